import { forbiddenValue } from '../../apimachinery/errors/errors.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { copyJson, jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { internalDiff } from '../internal/diff.ts';
import { podSpecCauses } from './validate.ts';

const AT = 'spec.ephemeralContainers';
const MIRROR = 'kubernetes.io/config.mirror';

/**
 * A write to `pods/NAME/ephemeralcontainers` must not change other fields. Restores their old values
 * (`dropNonEphemeralContainerUpdates`).
 */
export function prepareEphemeral(pod: ApiObject, old: ApiObject): void {
  const sent = items(look(pod, 'spec'), 'ephemeralContainers');
  const spec = copyJson(look(old, 'spec'));
  if (sent.length > 0) spec.ephemeralContainers = sent;
  else delete spec.ephemeralContainers;
  const { managedFields, resourceVersion = '' } = pod.metadata;
  pod.metadata = { ...old.metadata, resourceVersion };
  if (managedFields !== undefined) pod.metadata.managedFields = managedFields;
  pod.spec = spec;
  pod.status = look(old, 'status');
}

/**
 * Validates the ephemeral containers of a pod (`ValidatePodEphemeralContainersUpdate`). A client may add containers,
 * but must not change existing ones.
 */
export function ephemeralCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const spec = look(pod, 'spec');
  const causes = podSpecCauses(spec, 'spec');
  if (old.metadata.annotations?.[MIRROR] !== undefined) {
    return [...causes, forbiddenValue('', 'static pods do not support ephemeral containers')];
  }
  const now = new Map(items(spec, 'ephemeralContainers').map((container) => [text(container, 'name'), container]));
  for (const before of items(look(old, 'spec'), 'ephemeralContainers')) {
    const name = text(before, 'name');
    const container = now.get(name);
    const which = `existing ephemeral containers ${JSON.stringify(name)} may not be`;
    if (container === undefined) causes.push(forbiddenValue(AT, `${which} removed\n`));
    else if (!jsonEquals(container, before)) {
      const why = `${which} changed\n${internalDiff('EphemeralContainer', before, container)}`;
      causes.push(forbiddenValue(AT, why));
    }
  }
  return causes;
}
