import type { Kernel } from '@jupyterlab/services';
import { KernelMessage } from '@jupyterlab/services';
import type { MessageLike } from '../../feed/kernel';

/** Questions that a kernel answers on its control channel, also while cells run. */
type Question =
  | 'kernel_info_request'
  | 'comm_info_request'
  | 'create_subshell_request'
  | 'delete_subshell_request';

/**
 * Asks a kernel on its control channel.
 *
 * JupyterLab asks on the shell channel, where questions wait behind running cells: a page that is
 * loaded again in the middle of a long run would know nothing until the run ends. Kernels that
 * take no such question there never answer.
 */
export async function askControl(
  kernel: Kernel.IKernelConnection,
  msgType: Question,
  content: Record<string, string>
): Promise<MessageLike> {
  const message = KernelMessage.createMessage({
    // The types of JupyterLab know only some of the messages that the protocol allows there.
    msgType: msgType as 'create_subshell_request',
    channel: 'control',
    username: kernel.username,
    session: kernel.clientId,
    content
  });
  return await kernel.sendControlMessage(message, true, true).done;
}
