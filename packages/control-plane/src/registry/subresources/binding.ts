import { badRequest, conflict, methodNotAllowed } from '../../apimachinery/errors/errors.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import { formatTime } from '../../apimachinery/objects/object-text.ts';
import { StatusError } from '../../apimachinery/objects/status.ts';
import type { AdmissionAttributes } from '../../resources/admission.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Call, Registry, ReviewHandler, Target } from '../../resources/registry.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../../resources/subresource.ts';
import { CARRIED_BINDING, carried } from '../bodies/carried.ts';
import { decodeObject } from '../bodies/decode.ts';
import { receive, track } from '../writes/create.ts';
import { preconditionConflict, updateObject } from '../writes/update.ts';

interface Binding {
  readonly metadata: ObjectMeta;
  readonly target?: { readonly kind?: string; readonly name?: string };
}

interface Condition {
  readonly type: string;
  readonly [field: string]: unknown;
}

const SUPPORTED = ['Node', '<empty>'].map((kind) => JSON.stringify(kind)).join(', ');

/** @throws StatusError 400 or 500 for an invalid Binding */
function check({ metadata, target }: Binding, name: string): void {
  if (metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
  const { kind = '', name: node = '' } = target ?? {};
  const problems: string[] = [];
  if (kind !== '' && kind !== 'Node') {
    problems.push(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: ${SUPPORTED}`);
  }
  if (node === '') problems.push('target.name: Required value');
  if (problems.length === 0) return;
  const message = problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
  throw new StatusError({ message, code: 500 });
}

const BOUND = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

/** Binds a pod to a node. */
export async function bindPod(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call } = request;
  if (request.method !== 'POST') throw methodNotAllowed();
  const options = request.options('CreateOptions');
  const sent = await request.readBody('Binding');
  const object = decodeObject(sent, CARRIED_BINDING, registry.kinds, options, call.warn);
  receive(object, target, call);
  track(registry, CARRIED_BINDING, undefined, object, options, target.subresource);
  const attributes = registry.attributes(call, target, {
    operation: 'CREATE',
    object,
    old: undefined,
    carries: carried(CARRIED_BINDING),
    dryRun: options.dryRun,
    options: options.given,
  });
  await bind(registry, call, target, attributes, options);
  return { status: 201, body: BOUND };
}

export function legacyBinding(registry: Registry): ReviewHandler {
  return async ({ object, call, target, options, attributes }) => {
    const pods = registry.kinds.find('', 'v1', 'pods');
    if (pods === undefined) throw new Error('pods are not served');
    const { name = '' } = object.metadata;
    if (name === '') throw badRequest('Name parameter required.');
    await bind(registry, call, { ...target, served: pods, name, subresource: 'binding' }, attributes, options);
    return BOUND as ApiObject;
  };
}

async function bind(
  registry: Registry,
  call: Call,
  target: Target,
  attributes: AdmissionAttributes,
  options: WriteOptions,
): Promise<void> {
  const object = (await registry.admission.admit(attributes)) ?? attributes.object;
  const binding = object as Binding;
  check(binding, target.name);
  await registry.admission.validate({ ...attributes, object });
  const next = (pod: () => ApiObject): ApiObject => bound(registry, target, pod(), binding);
  await updateObject(registry, call, target, { next, admitted: true, managed: true, unchecked: true }, options);
}

function bound(registry: Registry, target: Target, pod: ApiObject, binding: Binding): ApiObject {
  const { metadata } = pod;
  const refuse = (why: string) => conflict({ group: '', plural: 'pods/binding' }, target.name, why);
  const spec = pod.spec as { nodeName?: string; schedulingGates?: unknown[] };
  const { uid = '', resourceVersion = '' } = binding.metadata;
  if (uid !== '' && uid !== metadata.uid) throw preconditionConflict(target, 'UID', uid, metadata.uid ?? '');
  if (resourceVersion !== '' && resourceVersion !== metadata.resourceVersion) {
    throw preconditionConflict(target, 'ResourceVersion', resourceVersion, metadata.resourceVersion ?? '');
  }
  if (metadata.deletionTimestamp !== undefined) {
    throw refuse(`pod ${target.name} is being deleted, cannot be assigned to a host`);
  }
  if (spec.nodeName !== undefined && spec.nodeName !== '') {
    throw refuse(`pod ${target.name} is already assigned to node "${spec.nodeName}"`);
  }
  if ((spec.schedulingGates ?? []).length > 0) {
    throw refuse(`pod ${target.name} has non-empty .spec.schedulingGates`);
  }
  spec.nodeName = binding.target?.name ?? '';
  const { annotations, labels } = binding.metadata;
  if (annotations !== undefined) metadata.annotations = { ...metadata.annotations, ...annotations };
  if (labels !== undefined) metadata.labels = { ...metadata.labels, ...labels };
  const status = (pod.status ?? {}) as { conditions?: Condition[]; nominatedNodeName?: string };
  // A bound pod no longer needs the nominated node.
  delete status.nominatedNodeName;
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: formatTime(registry.now()),
  };
  status.conditions = [...(status.conditions ?? []).filter(({ type }) => type !== 'PodScheduled'), scheduled];
  pod.status = status;
  return pod;
}
