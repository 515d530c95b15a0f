import type { ApiObject } from '../../object.ts';
import { forbiddenValue, invalidValue } from '../../registry/errors.ts';
import { copyJson, jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { internalDiff } from '../internal/diff.ts';
import { items, look, number, type Plain, text } from '../plain.ts';
import { podSpecCauses } from './validate.ts';

/** The sentence of the real server, whose list of fields has no spaces between them. */
const MUTABLE_FIELDS =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function gateCauses(spec: Plain, before: Plain): StatusCause[] {
  const known = new Set(items(before, 'schedulingGates').map((gate) => text(gate, 'name')));
  return items(spec, 'schedulingGates').flatMap((gate, index) => {
    const name = text(gate, 'name');
    if (known.has(name)) return [];
    return [
      forbiddenValue(
        `spec.schedulingGates[${index}].name`,
        `only deletion is allowed, but found new scheduling gate '${name}'`,
      ),
    ];
  });
}

const hasGates = (spec: Plain): boolean => items(spec, 'schedulingGates').length > 0;

/** The new spec with every part that may change set back, to be compared with the old one. */
function frozenPart(spec: Plain, before: Plain): Plain {
  const frozen = copyJson(spec);
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of items(frozen, list).entries()) {
      const image = items(before, list)[index]?.image;
      if (image === undefined) delete container.image;
      else container.image = image;
    }
  }
  for (const field of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) {
    if (before[field] === undefined) delete frozen[field];
    else frozen[field] = before[field];
  }
  // While its gates hold a pod back, its placement may still be narrowed.
  if (hasGates(before)) {
    for (const field of ['nodeSelector', 'affinity']) {
      if (before[field] === undefined) delete frozen[field];
      else frozen[field] = before[field];
    }
  }
  const grace = number(before, 'terminationGracePeriodSeconds') ?? 0;
  if (grace < 0 && spec.terminationGracePeriodSeconds === 1) frozen.terminationGracePeriodSeconds = grace;
  return frozen;
}

function deadlineCauses(spec: Plain, before: Plain): StatusCause[] {
  const field = 'spec.activeDeadlineSeconds';
  const old = number(before, 'activeDeadlineSeconds');
  const now = number(spec, 'activeDeadlineSeconds');
  if (old === undefined) return [];
  if (now === undefined) return [invalidValue(field, null, 'must not update from a positive integer to nil value')];
  return now > old ? [invalidValue(field, now, 'must be less than or equal to previous value')] : [];
}

/** A toleration, but for its seconds, may be added and never removed. */
function tolerationsKept(spec: Plain, before: Plain): boolean {
  const bare = ({ tolerationSeconds: _seconds, ...rest }: Plain): Plain => rest;
  const now = items(spec, 'tolerations').map(bare);
  return items(before, 'tolerations').every((old) => now.some((toleration) => jsonEquals(toleration, bare(old))));
}

/** Causes that a change of a pod gives (`ValidatePodUpdate`). */
export function podUpdateCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(pod, 'spec');
  const before = look(old, 'spec');
  if (jsonEquals(spec, before)) return [];
  for (const list of ['containers', 'initContainers']) {
    if (items(spec, list).length !== items(before, list).length) {
      return [forbiddenValue(`spec.${list}`, 'pod updates may not add or remove containers')];
    }
  }
  const causes = [...podSpecCauses(spec, 'spec'), ...gateCauses(spec, before), ...deadlineCauses(spec, before)];
  if (causes.length > 0) return causes;
  const frozen = frozenPart(spec, before);
  if (!jsonEquals(frozen, before)) {
    return [forbiddenValue('spec', `${MUTABLE_FIELDS}\n${internalDiff('PodSpec', before, frozen)}`)];
  }
  return tolerationsKept(spec, before)
    ? []
    : [forbiddenValue('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}
