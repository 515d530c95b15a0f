import { badRequest, internal, methodNotAllowed, notFound } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { checkLogOptions } from './log-options.ts';

const SCHEMES: ReadonlySet<string> = new Set(['', 'http', 'https']);

/** @throws StatusError 404 if the pod or service does not exist */
function targetOf({ registry, target }: SubresourceRequest, name = target.name): ApiObject {
  const record = registry.store.get(target.served.resource, target.namespace, name);
  if (record === undefined) throw notFound(target.served.kind, name);
  return registry.parse(target.served, record);
}

const names = (containers: readonly Plain[]): string => containers.map((one) => text(one, 'name')).join(' ');

/**
 * Checks the name of the container in a request.
 * @throws StatusError 400 with the error text
 * of kube-apiserver
 */
function checkContainer(pod: ApiObject, wanted: string | null): void {
  const spec = look(pod, 'spec');
  const containers = items(spec, 'containers');
  const all = [...items(spec, 'initContainers'), ...containers, ...items(spec, 'ephemeralContainers')];
  const { name } = pod.metadata;
  if (wanted === null || wanted === '') {
    if (containers.length === 1) return;
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${names(all)}]`);
  }
  if (!all.some((one) => text(one, 'name') === wanted)) {
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
}

const FLAGS = ['stdin', 'stdout', 'stderr', 'tty'] as const;

/** Reads the options of a connection from the query and the path of the request, as kube-apiserver does. */
function optionsOf({ query, target: { served, subresource }, rest }: SubresourceRequest): ApiObject {
  const object: ApiObject = { apiVersion: 'v1', kind: '', metadata: {} };
  if (subresource === 'proxy') {
    object.kind = `${served.kind.kind}ProxyOptions`;
    if (rest.length > 0) object.path = `/${rest.join('/')}`;
    return object;
  }
  if (subresource === 'portforward') {
    const ports = query.getAll('ports').map(Number);
    object.kind = 'PodPortForwardOptions';
    if (ports.length > 0) object.ports = ports;
    return object;
  }
  object.kind = subresource === 'exec' ? 'PodExecOptions' : 'PodAttachOptions';
  for (const flag of FLAGS) {
    const value = query.get(flag);
    // As in apimachinery, only the values `false` and `0` of a boolean are false.
    if (value !== null && value.toLowerCase() !== 'false' && value !== '0') object[flag] = true;
  }
  const container = query.get('container') ?? '';
  if (container !== '') object.container = container;
  const command = query.getAll('command');
  if (subresource === 'exec' && command.length > 0) object.command = command;
  return object;
}

/** @returns the options of the connection after admission */
async function admitConnection(request: SubresourceRequest): Promise<ApiObject> {
  const { registry, target, call } = request;
  const object = optionsOf(request);
  const attributes = registry.attributes(call, target, {
    operation: 'CONNECT',
    object,
    old: undefined,
    carries: { group: '', version: 'v1', kind: object.kind },
    dryRun: false,
    options: undefined,
  });
  const admitted = (await registry.admission.admit(attributes)) ?? object;
  await registry.admission.validate({ ...attributes, object: admitted });
  return admitted;
}

/**
 * Returns the error for a kubelet that is unreachable. This control plane runs no containers, so all requests to
 * kubelets fail.
 */
const unreachable = (node: string): Error =>
  internal(`error dialing backend: no kubelet of node "${node}" can be reached: this control plane runs no containers`);

function unreached({ registry, target }: SubresourceRequest, node: string): Error {
  const record = registry.store.get('/nodes', '', node);
  if (record === undefined) return notFound(target.served.kind, node);
  const addresses = items(look(JSON.parse(record.json), 'status'), 'addresses');
  return addresses.length === 0 ? internal('no preferred addresses found; known addresses: []') : unreachable(node);
}

/**
 * Handles requests for the log of a pod (`pods/NAME/log`). As in kube-apiserver, the log of a pod without a node is
 * empty. For a pod with a node, the request fails as if the kubelet were unreachable.
 */
export async function podLog(request: SubresourceRequest): Promise<SubresourceAnswer> {
  if (request.method !== 'GET') throw methodNotAllowed();
  checkLogOptions(request.query, request.target.name);
  const pod = targetOf(request);
  checkContainer(pod, request.query.get('container'));
  const node = text(look(pod, 'spec'), 'nodeName');
  if (node === '') return { status: 204, text: '' };
  throw unreached(request, node);
}

/** @throws StatusError 400 if a port is invalid */
function checkPorts(query: URLSearchParams): void {
  const wrong = query.getAll('ports').find((port) => !/^\d+$/.test(port));
  if (wrong === undefined) return;
  throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${JSON.stringify(wrong)}: invalid syntax`);
}

/** Handles requests for `exec`, `attach` and `portforward` of a pod. */
export async function podStream(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { method, query, target } = request;
  if (method !== 'GET' && method !== 'POST') throw methodNotAllowed();
  const isForward = target.subresource === 'portforward';
  if (isForward) checkPorts(query);
  const { container } = await admitConnection(request);
  const pod = targetOf(request);
  if (!isForward) checkContainer(pod, typeof container === 'string' ? container : null);
  const node = text(look(pod, 'spec'), 'nodeName');
  if (node === '') throw badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  throw unreached(request, node);
}

/** @throws StatusError 400 if the text is invalid */
function proxied(id: string, what: 'pod' | 'service'): { readonly name: string; readonly port: string } {
  const parts = id.split(':');
  const [first = '', second = '', third = ''] = parts;
  const [scheme, name, port] = parts.length === 3 ? [first, second, third] : ['', first, second];
  if (parts.length > 3 || name === '' || !SCHEMES.has(scheme)) {
    throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  }
  return { name, port };
}

/** Handles requests to a pod (`pods/NAME/proxy`). The pod must have an address. */
export async function podProxy(request: SubresourceRequest): Promise<SubresourceAnswer> {
  await admitConnection(request);
  const pod = targetOf(request, proxied(request.target.name, 'pod').name);
  if (text(look(pod, 'status'), 'podIP') === '') throw badRequest('address not allowed');
  throw unreachable(text(look(pod, 'spec'), 'nodeName'));
}

const unavailable = (message: string): StatusError =>
  new StatusError({ message, reason: 'ServiceUnavailable', code: 503 });

/** Handles requests to a service (`services/NAME/proxy`). */
export async function serviceProxy(request: SubresourceRequest): Promise<SubresourceAnswer> {
  await admitConnection(request);
  const { registry, target } = request;
  const { name, port } = proxied(target.name, 'service');
  const service = registry.store.get(target.served.resource, target.namespace, name);
  if (/^\d+$/.test(port)) {
    if (service === undefined) throw notFound(target.served.kind, name);
    const ports = items(look(JSON.parse(service.json), 'spec'), 'ports');
    if (!ports.some((one) => one.port === Number(port))) {
      throw unavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
    }
  }
  const endpoints = registry.store.get('/endpoints', target.namespace, name);
  if (endpoints === undefined) throw notFound(target.served.kind, name);
  const subsets = items(JSON.parse(endpoints.json), 'subsets');
  const ready = subsets.flatMap((subset) => items(subset, 'addresses'));
  const [address] = ready;
  if (address === undefined) {
    throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  }
  throw unreachable(text(address, 'nodeName'));
}

export async function nodeProxy(request: SubresourceRequest): Promise<SubresourceAnswer> {
  await admitConnection(request);
  throw unreached(request, targetOf(request).metadata.name ?? '');
}
