import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { lastRetrace } from '../feed/lookup';
import type { KernelState } from '../feed/store';
import type { DeviceRecord } from '../protocol';
import { CellList } from './lists/cellList';
import { FunctionList } from './lists/functionList';
import { LastRetrace } from './lists/retraceList';
import { VariableTree } from './lists/variables';
import { WorkList } from './lists/workList';
import { device, integer } from './parts/format';
import { Limited } from './parts/limited';
import { Section } from './parts/section';

/** A kernel's whole session: functions, the last retrace, captured variables, devices. */
export function SessionView({ state }: { state: KernelState | null }): VNode {
  return state ? (
    <Session state={state} />
  ) : (
    <p class="nbfn-Empty">Nothing has been traced yet.</p>
  );
}

function Session({ state }: { state: KernelState }): VNode {
  const functions = useMemo(() => {
    const inCells = new Set([...state.cells.values()].flatMap(cell => cell.functions));
    return [...state.functions.values()].filter(fn => !inCells.has(fn.id));
  }, [state.functions, state.cells]);
  const retrace = lastRetrace(state);
  return (
    <div class="nbfn-SessionView">
      <WorkList work={[...state.work.values()]} />
      {state.cells.size > 0 && (
        <Section
          class="nbfn-Section"
          title="Cells"
          note={integer(state.cells.size)}
          open
        >
          {() => <CellList state={state} />}
        </Section>
      )}
      <Section
        class="nbfn-Section"
        title="Functions"
        note={integer(functions.length)}
        open
      >
        {() => <FunctionList state={state} functions={functions} />}
      </Section>
      <Section
        class="nbfn-Section"
        title="Last retrace"
        note={retrace ? state.functions.get(retrace.function)?.name : 'none'}
        open
      >
        {() => <LastRetrace state={state} retrace={retrace} />}
      </Section>
      <Section
        class="nbfn-Section"
        title="Captured variables"
        note={integer(state.variables.size)}
        open
      >
        {() => <VariableTree variables={state.variables} />}
      </Section>
      <Section
        class="nbfn-Section"
        title="Devices"
        note={integer(state.devices.size)}
        open
      >
        {() => <DeviceList devices={state.devices} />}
      </Section>
      <p class="nbfn-Footer">
        {`nbfn ${state.nbfn}`}
        {state.tensorflow !== null && `, TensorFlow ${state.tensorflow}`}
      </p>
    </div>
  );
}

/** The devices that TensorFlow can place operations on. */
function DeviceList({
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
