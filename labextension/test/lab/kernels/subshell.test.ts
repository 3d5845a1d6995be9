import type { Kernel } from '@jupyterlab/services';
import { describe, expect, it } from 'vitest';
import { Subshell } from '../../../src/lab/kernels/subshell';

interface Asked {
  type: string;
  id: unknown;
  answer: (id: string) => void;
}

/** A connection to a kernel that answers on its control channel when the test says so. */
function connected() {
  const asked: Asked[] = [];
  const connection = {
    isDisposed: false,
    username: '',
    clientId: 'page',
    sendControlMessage: (sent: {
      header: { msg_type: string };
      content: { subshell_id?: string };
    }) => ({
      done: new Promise(resolve => {
        asked.push({
          type: sent.header.msg_type,
          id: sent.content.subshell_id,
          answer: id => resolve({ content: { status: 'ok', subshell_id: id } })
        });
      })
    })
  } as unknown as Kernel.IKernelConnection;
  const subshell = new Subshell(() => connection);
  const ended = () =>
    asked.filter(one => one.type === 'delete_subshell_request').map(one => one.id);
  const creations = () => asked.filter(one => one.type === 'create_subshell_request');
  return { subshell, asked, ended, creations };
}

const settle = () => new Promise(resolve => setTimeout(resolve));

async function hasStarted({ started }: Subshell): Promise<boolean> {
  return await Promise.race([started.then(() => true), settle().then(() => false)]);
}

describe('Subshell', () => {
  it('is one for all comms', async () => {
    const { subshell, creations, ended } = connected();
    subshell.start(false);
    creations()[0]?.answer('one');
    expect(await hasStarted(subshell)).toBe(true);
    expect(subshell.use()).toBe('one');
    subshell.start(false);
    expect(creations()).toHaveLength(1);
    expect(ended()).toEqual([]);
  });

  it('is asked for again as long as the kernel has not answered', async () => {
    const { subshell, creations, ended } = connected();
    subshell.start(false);
    subshell.start(true);
    expect(creations()).toHaveLength(2);
    expect(subshell.use()).toBeNull();
    creations()[1]?.answer('two');
    expect(await hasStarted(subshell)).toBe(true);
    creations()[0]?.answer('late');
    await settle();
    expect(subshell.use()).toBe('two');
    expect(ended()).toEqual(['late']);
  });

  it('is used once it is there, however late it was', async () => {
    const { subshell, creations } = connected();
    subshell.start(false);
    expect(subshell.use()).toBeNull();
    creations()[0]?.answer('one');
    await settle();
    subshell.start(true); // What had no answer was sent before.
    expect(creations()).toHaveLength(1);
    expect(subshell.use()).toBe('one');
  });

  it('makes room for another when it does not answer, and ends when that does', async () => {
    const { subshell, creations, ended } = connected();
    subshell.start(false);
    creations()[0]?.answer('one');
    await settle();
    subshell.use();
    subshell.start(true);
    expect(await hasStarted(subshell)).toBe(false);
    creations()[1]?.answer('two');
    expect(await hasStarted(subshell)).toBe(true);
    expect(ended()).toEqual([]);
    subshell.answered('one'); // late
    expect(ended()).toEqual([]);
    subshell.answered('two');
    expect(ended()).toEqual(['one']);
  });

  it('ends with the page, and those that did not answer with it', async () => {
    const { subshell, creations, ended } = connected();
    subshell.end();
    subshell.start(false);
    creations()[0]?.answer('one');
    await settle();
    subshell.use();
    subshell.start(true);
    creations()[1]?.answer('two');
    await settle();
    subshell.end();
    expect(ended()).toEqual(['one', 'two']);
    expect(subshell.use()).toBeNull();
  });

  it('is forgotten with its kernel, whose late answer counts no more', async () => {
    const { subshell, creations, ended } = connected();
    subshell.start(false);
    subshell.forget();
    creations()[0]?.answer('old');
    await settle();
    expect(subshell.use()).toBeNull();
    subshell.start(false);
    creations()[1]?.answer('new');
    await settle();
    expect(subshell.use()).toBe('new');
    expect(ended()).toEqual([]);
  });
});
