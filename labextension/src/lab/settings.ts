import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { KernelSession } from '../feed/session';
import type { SessionTracker } from './tracker';

/** What following the settings needs. */
export interface SettingsOptions {
  loading: Promise<ISettingRegistry.ISettings>;
  tracker: SessionTracker;
  /** Opens the panel. */
  open: () => void;
}

/** Opens the panel when a kernel loads nbfn, for as long as the setting says so. */
export async function followSettings(options: SettingsOptions): Promise<void> {
  const { loading, tracker, open } = options;
  let settings: ISettingRegistry.ISettings;
  try {
    settings = await loading;
  } catch (error) {
    // Without its settings the panel works as by default.
    console.error('The settings of nbfn could not be loaded.', error);
    return;
  }
  const seen = new WeakSet<KernelSession>();
  const wanted = (): boolean => settings.get('openWhenLoaded').composite === true;
  const start = (): void => {
    if (wanted()) {
      tracker.start();
    }
  };
  settings.changed.connect(start);
  tracker.changed.connect(({ situation }) => {
    if (situation.kind !== 'session' || situation.session.status.kind !== 'attached') {
      return;
    }
    if (!seen.has(situation.session)) {
      seen.add(situation.session);
      if (wanted()) {
        open();
      }
    }
  });
  start();
}
