import { items, look, type Plain, text } from '../../kinds/plain.ts';
import type { ApiObject } from '../../object.ts';
import { badRequest, internal, methodNotAllowed, notFound } from '../errors.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';

/** The pod or node that is to be reached. @throws StatusError 404 */
function targetOf({ registry, target }: SubresourceRequest): ApiObject {
  const record = registry.store.get(target.served.resource, target.namespace, target.name);
  if (record === undefined) throw notFound(target.served.kind, target.name);
  return registry.parse(target.served, record);
}

const names = (containers: readonly Plain[]): string => containers.map((one) => text(one, 'name')).join(' ');

/** The container that is meant: the one named, or the only one. @throws StatusError 400 in the server's words */
function checkContainer(pod: ApiObject, wanted: string | null, mayBeOmitted: boolean): void {
  const spec = look(pod, 'spec');
  const containers = items(spec, 'containers');
  const first = items(spec, 'initContainers');
  const all = [...containers, ...first, ...items(spec, 'ephemeralContainers')];
  const { name } = pod.metadata;
  if (wanted === null || wanted === '') {
    if (containers.length === 1 || mayBeOmitted) return;
    const beside = first.length === 0 ? '' : ` or one of the init containers: [${names(first)}]`;
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${names(containers)}]${beside}`,
    );
  }
  if (!all.some((one) => text(one, 'name') === wanted))
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
}

/** Nothing runs behind this plane: what a kubelet would answer is refused as if the kubelet could not be reached. */
const unreachable = (node: string): Error =>
  internal(`error dialing backend: no kubelet of node "${node}" can be reached: this control plane runs no containers`);

/** `pods/NAME/log`: empty for a pod without a node, as there; else what an unreachable kubelet gives. */
export async function podLog(request: SubresourceRequest): Promise<SubresourceAnswer> {
  if (request.method !== 'GET') throw methodNotAllowed();
  const pod = targetOf(request);
  checkContainer(pod, request.query.get('container'), false);
  const node = text(look(pod, 'spec'), 'nodeName');
  if (node === '') return { status: 200, text: '' };
  throw unreachable(node);
}

/** `pods/NAME/exec`, `attach`, `portforward` and `proxy`: streams to a kubelet, of which there is none. */
export async function podStream(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const pod = targetOf(request);
  checkContainer(pod, request.query.get('container'), request.query.get('command') === null);
  const node = text(look(pod, 'spec'), 'nodeName');
  if (node === '') throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  throw unreachable(node);
}

/** `nodes/NAME/proxy`. */
export async function nodeProxy(request: SubresourceRequest): Promise<SubresourceAnswer> {
  throw unreachable(targetOf(request).metadata.name ?? '');
}
