import { forbiddenValue } from '../../apimachinery/errors/errors.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import { labelProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, items, look, type Plain, preset, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import type { Strategy } from '../base/strategy.ts';
import { defaultClaim } from '../core/volumes.ts';
import { internalForm } from '../internal/form.ts';
import { claimSpecFindings } from '../pod/rules/claim.ts';
import { statusCountCauses } from './status-counts.ts';
import { defaultTemplate, workloadCauses } from './template.ts';

function defaultStatefulSet(object: ApiObject): void {
  const spec = child(object, 'spec');
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  preset(spec, 'podManagementPolicy', 'OrderedReady');
  defaultTemplate(spec);
  const update = child(spec, 'updateStrategy');
  if (text(update, 'type') === '')
    Object.assign(update, { type: 'RollingUpdate', rollingUpdate: update.rollingUpdate ?? {} });
  const { rollingUpdate } = update;
  if (update.type === 'RollingUpdate' && isRecord(rollingUpdate)) rollingUpdate.partition ??= 0;
  const retention = child(spec, 'persistentVolumeClaimRetentionPolicy');
  preset(retention, 'whenDeleted', 'Retain');
  preset(retention, 'whenScaled', 'Retain');
  const claims = spec.volumeClaimTemplates;
  for (const claim of Array.isArray(claims) ? claims.filter(isRecord) : []) {
    // The server sets apiVersion and kind, even if a client sent different values.
    claim.apiVersion = 'v1';
    claim.kind = 'PersistentVolumeClaim';
    defaultClaim(claim);
  }
}

const STATEFUL_MUTABLE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
];

function statefulSetChange(object: ApiObject, old: ApiObject): StatusCause[] {
  const frozen = (spec: Plain): Plain =>
    Object.fromEntries(Object.entries(spec).filter(([field]) => !STATEFUL_MUTABLE.includes(field)));
  if (jsonEquals(frozen(look(object, 'spec')), frozen(look(old, 'spec')))) return [];
  const list = STATEFUL_MUTABLE.slice(0, -1).map((field) => `'${field}'`);
  return [
    forbiddenValue(
      'spec',
      `updates to statefulset spec for fields other than ${list.join(', ')} and 'minReadySeconds' are forbidden`,
    ),
  ];
}

const RETENTIONS = ['Retain', 'Delete'];

function statefulSetCauses(spec: Plain, isNew: boolean): StatusCause[] {
  const findings = new Findings();
  const management = text(spec, 'podManagementPolicy');
  if (management === '') findings.required('spec.podManagementPolicy');
  else if (management !== 'OrderedReady' && management !== 'Parallel') {
    findings.invalid('spec.podManagementPolicy', management, "must be 'OrderedReady' or 'Parallel'");
  }
  const update = look(spec, 'updateStrategy');
  const type = text(update, 'type');
  const at = 'spec.updateStrategy';
  if (type === '') findings.required(at);
  else if (type === 'OnDelete') {
    if (update.rollingUpdate !== undefined) {
      const why = "only allowed for updateStrategy 'RollingUpdate'";
      findings.invalid(
        `${at}.rollingUpdate`,
        internalForm('RollingUpdateStatefulSetStrategy', look(update, 'rollingUpdate')),
        why,
      );
    }
  } else if (type === 'RollingUpdate') {
    findings.notNegative(`${at}.rollingUpdate.partition`, look(update, 'rollingUpdate').partition);
  } else
    findings.invalid(at, internalForm('StatefulSetUpdateStrategy', update), "must be 'RollingUpdate' or 'OnDelete'");
  const retention = look(spec, 'persistentVolumeClaimRetentionPolicy');
  for (const field of ['whenDeleted', 'whenScaled']) {
    findings.oneOf(`spec.persistentVolumeClaimRetentionPolicy.${field}`, retention[field], RETENTIONS);
  }
  findings.notNegative('spec.replicas', spec.replicas);
  findings.notNegative('spec.minReadySeconds', spec.minReadySeconds);
  findings.notNegative('spec.ordinals.start', look(spec, 'ordinals').start);
  const name = text(spec, 'serviceName');
  // The Service name and the claims are immutable, so an update skips their validation.
  if (isNew && name !== '') findings.problems('spec.serviceName', name, labelProblems(name));
  for (const [index, claim] of items(isNew ? spec : {}, 'volumeClaimTemplates').entries()) {
    claimSpecFindings(findings, look(claim, 'spec'), `spec.volumeClaimTemplates[${index}].spec`);
  }
  findings.add(workloadCauses(validatedSpec(spec), { kind: 'statefulset', unreadable: '', controller: 'StatefulSet' }));
  return findings.causes;
}

/**
 * Adds a volume for each claim to the template, and returns the spec. The result omits hostname and subdomain, because
 * the controller sets both fields in each pod.
 */
function validatedSpec(spec: Plain): Plain {
  const claims = items(spec, 'volumeClaimTemplates').map((claim) => {
    const name = text(look(claim, 'metadata'), 'name');
    return { name, persistentVolumeClaim: { claimName: name } };
  });
  const { hostname: _, subdomain: __, ...podSpec } = look(spec, 'template', 'spec');
  const validated = (pod: Plain): Plain => ({ ...spec, template: { ...look(spec, 'template'), spec: pod } });
  if (claims.length === 0) return validated(podSpec);
  const names = new Set(claims.map(({ name }) => name));
  const others = items(podSpec, 'volumes').filter((volume) => !names.has(text(volume, 'name')));
  const byName = new Map(claims.map((claim) => [claim.name, claim]));
  return validated({ ...podSpec, volumes: [...byName.values(), ...others] });
}

const statefulSetStatusCauses = statusCountCauses({
  fields: [
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
    'observedGeneration',
    'collisionCount',
  ],
  partsOfReplicas: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
  ready: 'status.readyReplicas',
  collisions: true,
});

/** Removes the field `maxUnavailable`, because its feature gate is off by default. */
function dropMaxUnavailable(set: ApiObject): void {
  delete look(set, 'spec', 'updateStrategy', 'rollingUpdate').maxUnavailable;
}

export const statefulSetStrategy: Strategy = {
  // The name of a StatefulSet must be a label value, because its pods have a label with the name.
  validateName: labelProblems,
  setDefaults: defaultStatefulSet,
  prepareForCreate(set) {
    set.status = { replicas: 0, availableReplicas: 0 };
    dropMaxUnavailable(set);
  },
  prepareForUpdate: dropMaxUnavailable,
  validate: (set) => statefulSetCauses(look(set, 'spec'), true),
  validateUpdate: (set, old, { subresource }) =>
    subresource === 'status'
      ? statefulSetStatusCauses(set, old)
      : [...statefulSetCauses(look(set, 'spec'), false), ...statefulSetChange(set, old)],
};
