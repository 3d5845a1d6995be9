import type { Kernel } from '@jupyterlab/services';
import { KernelMessage } from '@jupyterlab/services';
import type { MessageLike } from '../../feed/kernel';

/** Requests that a kernel answers on its control channel, also while cells run. */
type ControlRequest =
  | 'kernel_info_request'
  | 'comm_info_request'
  | 'create_subshell_request'
  | 'delete_subshell_request';

/**
 * Sends a request to a kernel on its control channel.
 *
 * JupyterLab uses the shell channel, where requests wait behind running cells: a page that is
 * reloaded during a long run would show nothing until the run ends. Kernels that do not support
 * the request on this channel never answer.
 */
export async function askControl(
  kernel: Kernel.IKernelConnection,
  msgType: ControlRequest,
  content: Record<string, string>
): Promise<MessageLike> {
  const message = KernelMessage.createMessage({
    // JupyterLab's types have only some of the messages that the protocol allows there.
    msgType: msgType as 'create_subshell_request',
    channel: 'control',
    username: kernel.username,
    session: kernel.clientId,
    content
  });
  return await kernel.sendControlMessage(message, true, true).done;
}
