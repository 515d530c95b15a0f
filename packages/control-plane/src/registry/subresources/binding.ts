import type { ApiObject } from '../../object.ts';
import { badRequest, conflict, invalid, methodNotAllowed, requiredValue } from '../errors.ts';
import { formatTime } from '../object-text.ts';
import type { SubresourceAnswer, SubresourceRequest } from '../subresource.ts';
import { updateObject } from '../update.ts';

interface Binding {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly annotations?: Record<string, string> };
  readonly target?: { readonly kind?: string; readonly name?: string };
}

interface Condition {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** `pods/NAME/binding`: puts a pod onto a node, once. */
export async function bindPod(request: SubresourceRequest): Promise<SubresourceAnswer> {
  const { registry, target, call } = request;
  if (request.method !== 'POST') throw methodNotAllowed();
  const options = request.options('CreateOptions');
  const binding = (await request.readBody('Binding')).plain as Binding;
  const node = binding.target?.name ?? '';
  if (binding.metadata?.name !== undefined && binding.metadata.name !== target.name) {
    throw badRequest('name in URL does not match name in Binding object');
  }
  if (binding.target?.kind !== undefined && !['', 'Node'].includes(binding.target.kind)) {
    throw invalid({ group: '', kind: 'Binding' }, target.name, [
      {
        reason: 'FieldValueNotSupported',
        message: `Unsupported value: ${JSON.stringify(binding.target.kind)}: supported values: "Node", "<empty>"`,
        field: 'target.kind',
      },
    ]);
  }
  if (node === '') {
    throw invalid({ group: '', kind: 'Binding' }, target.name, [requiredValue('target.name')]);
  }
  const attributes = registry.attributes(call, target, {
    operation: 'CREATE',
    object: {
      apiVersion: 'v1',
      kind: 'Binding',
      ...binding,
      metadata: { ...binding.metadata, name: target.name, namespace: target.namespace },
    },
    old: undefined,
    dryRun: options.dryRun,
    options: options.given,
  });
  await registry.admission.admit(attributes);
  await registry.admission.validate(attributes);
  const next = (pod: ApiObject): ApiObject => bound(request, pod, node, binding);
  // The storage binds, past what tells the managers: nobody owns `nodeName` or the condition.
  const transformation = { next, admitted: true, managed: true };
  await updateObject(registry, call, { ...target, subresource: 'binding' }, transformation, options);
  return { status: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
}

function bound({ registry, target }: SubresourceRequest, pod: ApiObject, node: string, binding: Binding): ApiObject {
  const { metadata } = pod;
  const refuse = (why: string) => conflict({ group: '', plural: 'pods/binding' }, target.name, why);
  const spec = pod.spec as { nodeName?: string; schedulingGates?: unknown[] };
  if (binding.metadata?.uid !== undefined && binding.metadata.uid !== '' && binding.metadata.uid !== metadata.uid) {
    throw refuse(
      `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${metadata.uid}`,
    );
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
  spec.nodeName = node;
  if (binding.metadata?.annotations !== undefined) {
    metadata.annotations = { ...metadata.annotations, ...binding.metadata.annotations };
  }
  const status = (pod.status ?? {}) as { conditions?: Condition[] };
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
