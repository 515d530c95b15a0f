import { errorText, isForbidden, type KubeClient, type Node, nodes } from '@mcm/kube';

/**
 * What was read; null where it may not be, and then `unread` gets the words of the server: who may not read one thing is
 * told the rest.
 */
export async function ifAllowed<T>(reading: Promise<T>, unread?: Set<string>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    unread?.add(errorText(error));
    return null;
  }
}

/** All Nodes; undefined where they may not be read. */
export async function readNodes(client: KubeClient, unread?: Set<string>): Promise<readonly Node[] | undefined> {
  return (await ifAllowed(client.resource<Node>(nodes).list(), unread))?.items;
}
