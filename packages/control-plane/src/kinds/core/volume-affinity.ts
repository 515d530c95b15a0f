import { invalidValue } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { internalForm } from '../internal/form.ts';

const RENAMED: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/region'],
  ['beta.kubernetes.io/os', 'kubernetes.io/os'],
  ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
  ['beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
]);

/** Replaces new label names by the old names, because a client may change an old name to the new name. */
function withOldNames(term: Plain, old: Plain | undefined): Plain {
  const lists = ['matchExpressions', 'matchFields'].map((list) => {
    const before = items(old, list);
    const requirements = items(term, list).map((requirement, index) => {
      const [was, is] = [text(before[index], 'key'), text(requirement, 'key')];
      // As in kube-apiserver, the old name of an unknown label is empty.
      return was !== is && (RENAMED.get(was) ?? '') === is ? { ...requirement, key: was } : requirement;
    });
    return [list, requirements] as const;
  });
  const given = lists.filter(([list]) => term[list] !== undefined);
  return { ...term, ...Object.fromEntries(given) };
}

/**
 * Validates a change of the node affinity (`validatePvNodeAffinity`). A client may add the affinity once, and cannot
 * change it later.
 */
export function affinityChange(affinity: unknown, old: unknown): StatusCause[] {
  if (old === undefined) return [];
  const required = look(affinity, 'required');
  const before = items(look(old, 'required'), 'nodeSelectorTerms');
  const terms = items(required, 'nodeSelectorTerms').map((term, index) => withOldNames(term, before[index]));
  const seen =
    required.nodeSelectorTerms === undefined
      ? affinity
      : { ...look({ affinity }, 'affinity'), required: { ...required, nodeSelectorTerms: terms } };
  if (jsonEquals(seen, old)) return [];
  const shown = isRecord(affinity) ? internalForm('VolumeNodeAffinity', affinity) : null;
  return [invalidValue('nodeAffinity', shown, 'field is immutable, except for updating from beta label to GA')];
}
