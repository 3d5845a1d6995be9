import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DeviceRecord } from '../../protocol';
import { device } from '../parts/format';
import { Limited } from '../parts/limited';

/** The devices that TensorFlow can place operations on. */
export function DeviceList({
  devices
}: {
  devices: ReadonlyMap<string, DeviceRecord>;
}): VNode {
  const all = useMemo(() => [...devices.values()], [devices]);
  if (all.length === 0) {
    return <p class="nbfn-Empty">TensorFlow has not been started yet.</p>;
  }
  return (
    <Limited items={all} step={50}>
      {visible => (
        <ul class="nbfn-Devices">
          {visible.map(one => (
            <li key={one.id} class="nbfn-Device" title={one.id}>
              <code>{device(one.id)}</code>
            </li>
          ))}
        </ul>
      )}
    </Limited>
  );
}
