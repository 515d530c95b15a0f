import { forbiddenValue, invalidValue } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { copyJson, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { qosClass } from './prepare.ts';
import { podSpecCauses } from './validate.ts';

const LISTS = ['containers', 'initContainers'] as const;
const RESIZABLE = ['resources', 'resizePolicy'] as const;
/** The only resources whose amounts may change. */
const AMOUNTS: ReadonlySet<string> = new Set(['cpu', 'memory']);
const MIRROR = 'kubernetes.io/config.mirror';

/** The container as it was, with the resources of the new one. */
function resized(container: Plain, before: Plain | undefined): Plain {
  if (before === undefined) return container;
  const kept = copyJson(before);
  for (const field of RESIZABLE) {
    if (container[field] === undefined) delete kept[field];
    else kept[field] = container[field];
  }
  return kept;
}

/** Of a write to `pods/NAME/resize` only the resources of its containers count (`dropNonResizeUpdates`). */
export function prepareResize(pod: ApiObject, old: ApiObject): void {
  const sent = look(pod, 'spec');
  const spec = copyJson(look(old, 'spec'));
  for (const list of LISTS) {
    const before = new Map(items(spec, list).map((container) => [text(container, 'name'), container]));
    const containers = items(sent, list).map((container) => resized(container, before.get(text(container, 'name'))));
    if (containers.length > 0) spec[list] = containers;
    else delete spec[list];
  }
  const { managedFields, resourceVersion = '' } = pod.metadata;
  pod.metadata = { ...old.metadata, resourceVersion, ...(managedFields === undefined ? {} : { managedFields }) };
  pod.spec = spec;
  pod.status = look(old, 'status');
}

/** A container without the amounts that a resize may change. */
function frozen(container: Plain): Plain {
  const { resources: _resources, ...rest } = container;
  const held = look(container, 'resources');
  const others = (field: string): [string, unknown][] =>
    Object.entries(look(held, field)).filter(([name]) => !AMOUNTS.has(name));
  const { requests: _requests, limits: _limits, ...more } = held;
  return {
    ...rest,
    more,
    requests: Object.fromEntries(others('requests')),
    limits: Object.fromEntries(others('limits')),
  };
}

/** Amounts can be changed, never taken away. */
function removedCauses(container: Plain, before: Plain, at: string): StatusCause[] {
  return ['requests', 'limits'].flatMap((field) => {
    const now = look(container, 'resources', field);
    const removed = Object.keys(look(before, 'resources', field)).some(
      (name) => AMOUNTS.has(name) && now[name] === undefined,
    );
    if (!removed) return [];
    return [forbiddenValue(`${at}.resources.${field}`, `resource ${field} cannot be removed`)];
  });
}

/** Causes that a resize of a pod gives (`ValidatePodResize`). */
export function resizeCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(pod, 'spec');
  const before = look(old, 'spec');
  const causes = podSpecCauses(spec, 'spec');
  if (old.metadata.annotations?.[MIRROR] !== undefined) {
    return [...causes, forbiddenValue('', 'static pods cannot be resized')];
  }
  if (text(look(before, 'os'), 'name') === 'windows') {
    return [...causes, forbiddenValue('', 'windows pods cannot be resized')];
  }
  const was = text(look(old, 'status'), 'qosClass') || qosClass(before);
  if (qosClass(spec) !== was) {
    causes.push(invalidValue('spec', was, 'Pod QOS Class may not change as a result of resizing'));
  }
  for (const list of LISTS) {
    if (items(spec, list).length === items(before, list).length) continue;
    return [...causes, forbiddenValue(`spec.${list}`, `${list} may not be added or removed on resize`)];
  }
  for (const list of LISTS) {
    for (const [index, container] of items(spec, list).entries()) {
      causes.push(...removedCauses(container, items(before, list)[index] ?? {}, `spec.${list}[${index}]`));
    }
  }
  const isSame = LISTS.every((list) => jsonEquals(items(spec, list).map(frozen), items(before, list).map(frozen)));
  if (!isSame) causes.push(forbiddenValue('spec', 'only cpu and memory resources are mutable'));
  return causes;
}
