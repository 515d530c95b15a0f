import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { copyJson, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { qosClass } from './prepare.ts';
import { podCauses } from './validate.ts';

const LISTS = ['initContainers', 'containers'] as const;
const RESIZABLE = ['resources', 'resizePolicy'] as const;
/** The resources whose amounts a resize may change. */
const AMOUNTS: ReadonlySet<string> = new Set(['cpu', 'memory']);
const MIRROR = 'kubernetes.io/config.mirror';

function put(holder: Plain, field: string, value: unknown): void {
  if (value === undefined) delete holder[field];
  else holder[field] = value;
}

/** Returns the old containers with the resources from the request. */
function resized(sent: readonly Plain[], before: readonly Plain[]): readonly Plain[] {
  if (sent.some((container, index) => text(container, 'name') !== text(before[index] ?? {}, 'name'))) return sent;
  return sent.map((container, index) => {
    const kept = copyJson(before[index] ?? {});
    for (const field of RESIZABLE) put(kept, field, container[field]);
    return kept;
  });
}

/**
 * A write to `pods/NAME/resize` changes only resources. Restores the old values of all other fields
 * (`dropNonResizeUpdates`).
 */
export function prepareResize(pod: ApiObject, old: ApiObject): void {
  const sent = look(pod, 'spec');
  const spec = copyJson(look(old, 'spec'));
  // If the number of containers differs, the validation refuses the write.
  if (LISTS.some((list) => items(sent, list).length !== items(spec, list).length)) return;
  for (const list of LISTS) {
    const containers = resized(items(sent, list), items(spec, list));
    put(spec, list, containers.length > 0 ? containers : undefined);
  }
  put(spec, 'resources', sent.resources);
  const { managedFields, resourceVersion = '' } = pod.metadata;
  pod.metadata = { ...old.metadata, resourceVersion };
  if (managedFields !== undefined) pod.metadata.managedFields = managedFields;
  pod.spec = spec;
  pod.status = look(old, 'status');
}

/** Returns the requests and limits that a resize must not change. */
function others(resources: Plain): Plain {
  const of = (field: string): Plain =>
    Object.fromEntries(Object.entries(look(resources, field)).filter(([name]) => !AMOUNTS.has(name)));
  return { requests: of('requests'), limits: of('limits') };
}

/** Returns whether the resources of a container have changed. As in kube-apiserver, the function ignores new claims. */
function isChanged(container: Plain, before: Plain): boolean {
  const { resources: _resources, ...rest } = container;
  const { resources: _before, ...restBefore } = before;
  const [now, was] = [look(container, 'resources'), look(before, 'resources')];
  return !jsonEquals(rest, restBefore) || !jsonEquals(others(now), others(was)) || items(was, 'claims').length > 0;
}

/** Returns an error for each removed amount, because a resize may only change amounts. */
function removedCauses(resources: Plain, before: Plain, at: string, what: string): StatusCause[] {
  return ['requests', 'limits'].flatMap((field) => {
    const now = look(resources, field);
    const isRemoved = Object.keys(look(before, field)).some((name) => now[name] === undefined);
    return isRemoved ? [forbiddenValue(`${at}.${field}`, `${what} ${field} cannot be removed`)] : [];
  });
}

const hasAmounts = ({ resources }: Plain): boolean =>
  isRecord(resources) && ['requests', 'limits'].some((field) => Object.keys(look(resources, field)).length > 0);

function podLevelCauses(spec: Plain, before: Plain): StatusCause[] {
  if (!hasAmounts(spec) && !hasAmounts(before)) return [];
  const at = 'spec.resources';
  if (before.resources !== undefined && spec.resources === undefined) {
    return [forbiddenValue(at, 'pod-level resources cannot be removed')];
  }
  const [now, was] = [look(spec, 'resources'), look(before, 'resources')];
  const isSame = jsonEquals(others(now), others(was)) && jsonEquals(items(now, 'claims'), items(was, 'claims'));
  return [
    ...removedCauses(now, was, at, 'pod-level resource'),
    ...(isSame ? [] : [forbiddenValue('spec', 'only cpu and memory resources are mutable at pod-level')]),
  ];
}

function orderCauses(spec: Plain, before: Plain): StatusCause[] {
  return [...LISTS].reverse().flatMap((list) => {
    const [now, was] = [items(spec, list), items(before, list)];
    if (now.length !== was.length) {
      return [forbiddenValue(`spec.${list}`, `${list} may not be added or removed on resize`)];
    }
    return now.flatMap((container, index) =>
      text(container, 'name') === text(was[index] ?? {}, 'name')
        ? []
        : [forbiddenValue(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)],
    );
  });
}

function initCauses(container: Plain, before: Plain, at: string): StatusCause[] {
  const causes: StatusCause[] = [];
  if (isChanged(container, before)) {
    causes.push(forbiddenValue(at, 'only cpu and memory resources for init or sidecar containers are mutable'));
  }
  if (container.restartPolicy === 'Always' || jsonEquals(container, before)) return causes;
  const why = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
  for (const policy of items(container, 'resizePolicy')) {
    if (policy.restartPolicy === 'RestartContainer') causes.push(forbiddenValue(at, why));
  }
  return causes;
}

function containerCauses(spec: Plain, before: Plain): StatusCause[] {
  const each = (list: string, causes: (now: Plain, was: Plain, at: string) => StatusCause[]): StatusCause[] =>
    items(spec, list).flatMap((container, index) =>
      causes(container, items(before, list)[index] ?? {}, `spec.${list}[${index}]`),
    );
  const removed = (now: Plain, was: Plain, at: string): StatusCause[] =>
    removedCauses(look(now, 'resources'), look(was, 'resources'), `${at}.resources`, 'resource');
  return [
    ...LISTS.flatMap((list) => each(list, removed)),
    ...each('containers', (now, was) =>
      isChanged(now, was) ? [forbiddenValue('spec', 'only cpu and memory resources are mutable')] : [],
    ),
    ...each('initContainers', initCauses),
  ];
}

/** Returns whether the kubelet reports resources. */
function isResizable(old: ApiObject): boolean {
  const running = items(look(old, 'status'), 'containerStatuses').find(
    (status) => look(status, 'state').running !== undefined,
  );
  return running === undefined || running.resources !== undefined;
}

/** Validates a resize of a pod, as `ValidatePodResize` in Kubernetes. */
export function resizeCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(pod, 'spec');
  const before = look(old, 'spec');
  if (old.metadata.annotations?.[MIRROR] !== undefined) return [forbiddenValue('', 'static pods cannot be resized')];
  if (text(look(before, 'os'), 'name') === 'windows') return [forbiddenValue('', 'windows pods cannot be resized')];
  const causes = podCauses(pod);
  const status = look(old, 'status');
  const was = text(status, 'qosClass') || qosClass(before);
  if (qosClass(spec) !== was) {
    causes.push(invalidValue('spec', text(status, 'qosClass'), 'Pod QOS Class may not change as a result of resizing'));
  }
  if (!isResizable(old)) causes.push(forbiddenValue('spec', 'Pod running on node without support for resize'));
  causes.push(...podLevelCauses(spec, before));
  if (items(status, 'nodeAllocatableResourceClaimStatuses').length > 0) {
    causes.push(forbiddenValue('spec', 'pods with node allocatable resource claims cannot be resized'));
  }
  const order = orderCauses(spec, before);
  if (order.length > 0) return [...causes, ...order];
  causes.push(...containerCauses(spec, before));
  const isPresent = (each: Plain): boolean => each.resources !== undefined;
  if (causes.length === 0 && !hasAmounts(spec) && !hasAmounts(before) && isPresent(spec) !== isPresent(before)) {
    causes.push(forbiddenValue('spec', 'only cpu and memory resources are mutable'));
  }
  return causes;
}
