import type { Messages } from '../protocol';
import type { MessageLike } from './kernel';

const TYPES: readonly string[] = ['snapshot', 'patch', 'pages', 'mark', 'refused'];

/** The nbfn message in a comm message, or null if there is none. */
export function messageIn({ content }: MessageLike): Messages['to_client'] | null {
  const data = field(content, 'data');
  const type = field(data, 'type');
  return typeof type === 'string' && TYPES.includes(type)
    ? (data as Messages['to_client'])
    : null;
}

/** Whether the message announces that nbfn has just been loaded. */
export function isPresence({ header, content }: MessageLike): boolean {
  return (
    header.msg_type === 'comm_msg' &&
    field(field(content, 'data'), 'type') === 'presence'
  );
}

/** Whether the message reports the end of a cell, run by this page or another. */
export function isCellEnd({ header, parent_header, content }: MessageLike): boolean {
  return (
    header.msg_type === 'status' &&
    field(content, 'execution_state') === 'idle' &&
    field(parent_header, 'msg_type') === 'execute_request'
  );
}

/** Whether a `comm_info_reply` lists a comm. */
export function listsComms({ content }: MessageLike): boolean {
  const comms = field(content, 'comms');
  return typeof comms === 'object' && comms !== null && Object.keys(comms).length > 0;
}

/** A field of a value of unknown type; undefined if it has none. */
export function field(record: unknown, name: string): unknown {
  return typeof record === 'object' && record !== null
    ? (record as Record<string, unknown>)[name]
    : undefined;
}
