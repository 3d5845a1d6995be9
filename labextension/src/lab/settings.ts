import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { KernelSession } from '../feed/session';
import type { SessionTracker } from './tracker';

const DEFAULTS = { openWhenLoaded: false, markLines: true, showBadges: true };

/** The user's settings; the defaults until they are loaded, or if loading fails. */
export class Preferences {
  /** Emitted when a setting may have changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The value of a setting. */
  get(name: keyof typeof DEFAULTS): boolean {
    const value = this._settings?.get(name).composite;
    return typeof value === 'boolean' ? value : DEFAULTS[name];
  }

  /** Uses the settings once they are loaded, and whenever they change. */
  async follow(loading: Promise<ISettingRegistry.ISettings>): Promise<void> {
    try {
      this._settings = await loading;
    } catch (error) {
      console.error('The settings of nbfn could not be loaded.', error);
      return;
    }
    this._settings.changed.connect(() => this._changed.emit());
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _settings: ISettingRegistry.ISettings | null = null;
}

/** Opens the panel when a kernel loads nbfn, if the setting is on. */
export function openWhenLoaded(
  preferences: Preferences,
  tracker: SessionTracker,
  open: () => void
): void {
  const seen = new WeakSet<KernelSession>();
  preferences.changed.connect(() => {
    if (preferences.get('openWhenLoaded')) {
      tracker.start();
    }
  });
  tracker.changed.connect(({ situation }) => {
    if (situation.kind !== 'session' || situation.session.status.kind !== 'attached') {
      return;
    }
    if (!seen.has(situation.session)) {
      seen.add(situation.session);
      if (preferences.get('openWhenLoaded')) {
        open();
      }
    }
  });
}
