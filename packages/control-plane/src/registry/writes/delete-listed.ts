import { StatusError } from '../../apimachinery/objects/status.ts';
import type { DeleteOptions, ListOptions } from '../../resources/options.ts';
import type { Call, Registry, Target } from '../../resources/registry.ts';
import { type ListResult, listRecords } from '../reads/list.ts';
import { deleteObject } from './delete.ts';

const isNotFound = (error: unknown): boolean => error instanceof StatusError && error.status.code === 404;

/**
 * Deletes the objects of a list. With a limit, the function deletes only one page of objects. As in kube-apiserver,
 * which lists in pages, a resourceVersion always selects the exact version.
 * @returns the objects in their listed state
 * @throws StatusError if the list fails, or if a deletion is refused
 */
export async function deleteListed(
  registry: Registry,
  call: Call,
  target: Target,
  list: ListOptions,
  options: DeleteOptions,
): Promise<ListResult> {
  const { propagationWarning } = target.served.kind;
  // The server sends the warning even if the list is empty.
  if (propagationWarning !== undefined && options.propagationPolicy === undefined) call.warn(propagationWarning);
  const asked = list.limit > 0 ? list : { ...list, limit: Number.MAX_SAFE_INTEGER };
  const listed = await listRecords(registry, target, asked);
  for (const { namespace, name } of listed.records) {
    try {
      await deleteObject(registry, call, { ...target, namespace, name }, options, 'listed');
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  return listed;
}
