import { forbiddenValue, invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { copyWithEmpties, forgetEmpty, given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { internalDiff } from '../internal/diff.ts';
import { internalForm } from '../internal/form.ts';
import { podSpecCauses, tokenCauses } from './validate.ts';

/**
 * The error about a forbidden update of a pod. As in kube-apiserver, the list of mutable fields has no spaces after the
 * commas.
 */
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

/** Copies the new spec, and replaces all mutable fields by their old values. */
function frozenPart(spec: Plain, before: Plain): Plain {
  const frozen = copyWithEmpties(spec);
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of items(frozen, list).entries()) {
      const image = items(before, list)[index]?.image;
      if (image === undefined) delete container.image;
      else container.image = image;
    }
  }
  for (const field of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) carry(before, field, frozen);
  if (hasGates(before)) {
    carry(before, 'nodeSelector', frozen);
    freezeNodeAffinity(frozen, before);
  }
  const grace = number(before, 'terminationGracePeriodSeconds') ?? 0;
  if (grace < 0 && spec.terminationGracePeriodSeconds === 1) frozen.terminationGracePeriodSeconds = grace;
  return frozen;
}

function carry(from: Plain, field: string, to: Plain): void {
  forgetEmpty(to, field);
  if (from[field] === undefined) delete to[field];
  else to[field] = from[field];
}

/** Copies the old node affinity to the new spec. */
function freezeNodeAffinity(frozen: Plain, before: Plain): void {
  const old = look(before, 'affinity').nodeAffinity;
  if (jsonEquals(look(frozen, 'affinity').nodeAffinity, old)) return;
  const affinity = isRecord(frozen.affinity) ? frozen.affinity : {};
  carry(look(before, 'affinity'), 'nodeAffinity', affinity);
  if (before.affinity === undefined && Object.keys(affinity).length === 0) delete frozen.affinity;
  else frozen.affinity = affinity;
}

const TERMS = 'requiredDuringSchedulingIgnoredDuringExecution';

/**
 * Returns whether a list starts with all items of the old list, which means that the client only added items at the
 * end.
 */
const onlyAdds = (now: readonly Plain[], old: readonly Plain[]): boolean => jsonEquals(now.slice(0, old.length), old);

/**
 * Returns whether a change of a node selector term only adds requirements. An empty term matches no node, so the term
 * must stay empty.
 */
function narrows(term: Plain, old: Plain): boolean {
  const [expressions, fields] = [items(old, 'matchExpressions'), items(old, 'matchFields')];
  const [nowExpressions, nowFields] = [items(term, 'matchExpressions'), items(term, 'matchFields')];
  if (expressions.length + fields.length === 0 && nowExpressions.length + nowFields.length > 0) return false;
  return onlyAdds(nowExpressions, expressions) && onlyAdds(nowFields, fields);
}

/** Validates the placement of a pod with scheduling gates. */
function placementCauses(spec: Plain, before: Plain): StatusCause[] {
  const causes: StatusCause[] = [];
  const selector = look(spec, 'nodeSelector');
  if (Object.entries(look(before, 'nodeSelector')).some(([key, value]) => selector[key] !== value)) {
    const why = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    causes.push(invalidValue('spec.nodeSelector', given(spec, 'nodeSelector'), why));
  }
  const required = look(spec, 'affinity', 'nodeAffinity', TERMS);
  const terms = items(required, 'nodeSelectorTerms');
  const old = items(look(before, 'affinity', 'nodeAffinity', TERMS), 'nodeSelectorTerms');
  const field = `spec.affinity.nodeAffinity.${TERMS}.nodeSelectorTerms`;
  if (old.length > 0 && old.length !== terms.length) {
    const why = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed';
    const shown =
      terms.length > 0
        ? terms.map((term) => internalForm('NodeSelectorTerm', term))
        : given(required, 'nodeSelectorTerms');
    return [...causes, invalidValue(field, shown, why)];
  }
  for (const [index, term] of old.entries()) {
    const now = terms[index] ?? {};
    if (narrows(now, term)) continue;
    const why = 'only additions are allowed (no mutations or deletions)';
    causes.push(invalidValue(`${field}[${index}]`, internalForm('NodeSelectorTerm', now), why));
  }
  return causes;
}

function imageCauses(spec: Plain, list: string): StatusCause[] {
  return items(spec, list).flatMap((container, index) => {
    const field = `spec.${list}[${index}].image`;
    const image = text(container, 'image');
    if (image === '') return [requiredValue(field)];
    if (image.trim() === image) return [];
    return [invalidValue(field, image, 'must not have leading or trailing whitespace')];
  });
}

function deadlineCauses(spec: Plain, before: Plain): StatusCause[] {
  const field = 'spec.activeDeadlineSeconds';
  const old = number(before, 'activeDeadlineSeconds');
  const now = number(spec, 'activeDeadlineSeconds');
  if (old === undefined) return [];
  if (now === undefined) return [invalidValue(field, null, 'must not update from a positive integer to nil value')];
  return now > old ? [invalidValue(field, now, 'must be less than or equal to previous value')] : [];
}

/** Returns whether all old tolerations remain. */
function tolerationsKept(spec: Plain, before: Plain): boolean {
  const bare = ({ tolerationSeconds: _seconds, ...rest }: Plain): Plain => rest;
  const now = items(spec, 'tolerations').map(bare);
  return items(before, 'tolerations').every((old) => now.some((toleration) => jsonEquals(toleration, bare(old))));
}

/** Validates an update of a pod, as `ValidatePodUpdate` in Kubernetes. */
export function podUpdateCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(pod, 'spec');
  const before = look(old, 'spec');
  if (jsonEquals(spec, before)) return [];
  const causes = [...podSpecCauses(spec, 'spec'), ...tokenCauses(spec, 'spec')];
  for (const list of ['containers', 'initContainers']) {
    if (items(spec, list).length !== items(before, list).length) {
      causes.push(forbiddenValue(`spec.${list}`, 'pod updates may not add or remove containers'));
      return causes;
    }
    causes.push(...imageCauses(spec, list));
  }
  const deadline = deadlineCauses(spec, before);
  causes.push(...deadline);
  // As in kube-apiserver, an error about a longer deadline ends the validation. After an error about a removed
  // deadline, the validation continues.
  if (deadline.length > 0 && spec.activeDeadlineSeconds !== undefined) return causes;
  if (!tolerationsKept(spec, before)) {
    const why = 'existing toleration can not be modified except its tolerationSeconds';
    causes.push(forbiddenValue('spec.tolerations', why));
  }
  causes.push(...gateCauses(spec, before));
  if (hasGates(before)) causes.push(...placementCauses(spec, before));
  const frozen = frozenPart(spec, before);
  if (!jsonEquals(frozen, before)) {
    causes.push(forbiddenValue('spec', `${MUTABLE_FIELDS}\n${internalDiff('PodSpec', before, frozen)}`));
  }
  return causes;
}
