import type { ApiObject } from '../../object.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../registry/errors.ts';
import { labelProblems } from '../../registry/names.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { negativeCauses } from '../causes.ts';
import { claimSpecFindings } from '../core/claim.ts';
import { Findings } from '../findings.ts';
import { internalForm } from '../internal/form.ts';
import type { KindDefinition } from '../kind.ts';
import { child, isPlain, items, look, type Plain, preset, text } from '../plain.ts';
import { roundAmounts } from '../quantity.ts';
import { DecodeError } from '../shape.ts';
import { shownSelector } from './selector.ts';
import { statusCountCauses } from './status-counts.ts';
import { defaultTemplate, intOrPercentCauses, isNothing, workloadCauses } from './template.ts';

/** What a kind adds to the generic behavior. */
export type Strategy = Pick<
  KindDefinition,
  'setDefaults' | 'prepareForCreate' | 'prepareForUpdate' | 'validate' | 'validateUpdate' | 'validateName'
>;

/** A strategy whose update is judged as a creation, and then by `change`. */
export function strategy(
  rules: Strategy & {
    readonly causes?: (object: ApiObject) => StatusCause[];
    readonly change?: (object: ApiObject, old: ApiObject) => StatusCause[];
    /** What a write of the status is judged by; default: nothing. */
    readonly statusCauses?: (object: ApiObject, old: ApiObject) => StatusCause[];
    /** The causes of the change come before those of the object; else after. */
    readonly changesFirst?: boolean;
  },
): Strategy {
  const { causes, change, statusCauses, changesFirst = false, ...hooks } = rules;
  return {
    ...hooks,
    validate: (object) => causes?.(object) ?? [],
    validateUpdate: (object, old, context) => {
      if (context.subresource === 'status') return statusCauses?.(object, old) ?? [];
      const own = causes?.(object) ?? [];
      const changes = change?.(object, old) ?? [];
      return changesFirst ? [...changes, ...own] : [...own, ...changes];
    },
  };
}

/** Empties the status of a new object; `zero` are the fields that its type always writes. */
export const withStatus =
  (zero: Plain = {}) =>
  (object: ApiObject): void => {
    object.status = structuredClone(zero);
  };

const immutableSelector = (object: ApiObject, old: ApiObject): StatusCause[] => {
  const selector = look(object, 'spec').selector;
  if (jsonEquals(selector, look(old, 'spec').selector)) return [];
  return [invalidValue('spec.selector', shownSelector(selector), 'field is immutable')];
};

function defaultDeployment(object: ApiObject): void {
  const spec = child(object, 'spec');
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  defaultTemplate(spec);
  const strategyField = child(spec, 'strategy');
  preset(strategyField, 'type', 'RollingUpdate');
  if (strategyField.type !== 'RollingUpdate') return;
  const rolling = child(strategyField, 'rollingUpdate');
  rolling.maxUnavailable ??= '25%';
  rolling.maxSurge ??= '25%';
}

function deploymentStrategyCauses(spec: Plain): StatusCause[] {
  const value = look(spec, 'strategy');
  const type = text(value, 'type');
  const { rollingUpdate } = value;
  if (type === 'Recreate') {
    return rollingUpdate === undefined
      ? []
      : [forbiddenValue('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (type !== 'RollingUpdate') {
    const shown = internalForm('DeploymentStrategy', value);
    return [unsupportedValue('spec.strategy', shown, ['Recreate', 'RollingUpdate'])];
  }
  const path = 'spec.strategy.rollingUpdate';
  const { maxUnavailable, maxSurge } = look(value, 'rollingUpdate');
  const causes = [
    ...intOrPercentCauses(`${path}.maxUnavailable`, maxUnavailable),
    ...intOrPercentCauses(`${path}.maxSurge`, maxSurge),
  ];
  if (isNothing(maxUnavailable) && isNothing(maxSurge)) {
    causes.push(invalidValue(`${path}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0'));
  }
  return causes;
}

function deploymentCauses(object: ApiObject): StatusCause[] {
  const spec = look(object, 'spec');
  return [
    ...negativeCauses('spec.replicas', spec.replicas),
    ...workloadCauses(spec),
    ...deploymentStrategyCauses(spec),
    ...negativeCauses('spec.minReadySeconds', spec.minReadySeconds),
    ...negativeCauses('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    ...negativeCauses('spec.progressDeadlineSeconds', spec.progressDeadlineSeconds),
    ...deadlineCauses(spec),
  ];
}

/** A pod needs the time to become available before its rollout is given up. */
function deadlineCauses(spec: Plain): StatusCause[] {
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec;
  if (typeof deadline !== 'number' || deadline > Number(minReadySeconds)) return [];
  return [invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')];
}

export const deploymentStrategy = strategy({
  setDefaults: defaultDeployment,
  prepareForCreate: withStatus(),
  causes: deploymentCauses,
  change: immutableSelector,
  statusCauses: statusCountCauses({
    fields: [
      'observedGeneration',
      'replicas',
      'updatedReplicas',
      'readyReplicas',
      'availableReplicas',
      'unavailableReplicas',
      'terminatingReplicas',
      'collisionCount',
    ],
    partsOfReplicas: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
    ready: 'readyReplicas',
    collisions: true,
  }),
});

export const replicaSetStrategy = strategy({
  setDefaults(object) {
    const spec = child(object, 'spec');
    spec.replicas ??= 1;
    defaultTemplate(spec);
  },
  prepareForCreate: withStatus({ replicas: 0 }),
  causes(object) {
    const spec = look(object, 'spec');
    return [
      ...negativeCauses('spec.replicas', spec.replicas),
      ...negativeCauses('spec.minReadySeconds', spec.minReadySeconds),
      ...workloadCauses(spec),
    ];
  },
  change: immutableSelector,
  statusCauses: statusCountCauses({
    fields: [
      'replicas',
      'fullyLabeledReplicas',
      'readyReplicas',
      'availableReplicas',
      'observedGeneration',
      'terminatingReplicas',
    ],
    partsOfReplicas: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
    ready: 'readyReplicas',
  }),
});

export const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation';

function defaultDaemonSet(object: ApiObject): void {
  annotateGeneration(object, templateGeneration(object));
  const spec = child(object, 'spec');
  spec.revisionHistoryLimit ??= 10;
  defaultTemplate(spec);
  const update = child(spec, 'updateStrategy');
  preset(update, 'type', 'RollingUpdate');
  if (update.type !== 'RollingUpdate') return;
  const rolling = child(update, 'rollingUpdate');
  rolling.maxUnavailable ??= 1;
  rolling.maxSurge ??= 0;
}

function daemonSetUpdateCauses(spec: Plain): StatusCause[] {
  const update = look(spec, 'updateStrategy');
  const type = text(update, 'type');
  if (type === 'OnDelete') return [];
  if (type !== 'RollingUpdate') {
    const shown = internalForm('DaemonSetUpdateStrategy', update);
    return [unsupportedValue('spec.updateStrategy', shown, ['RollingUpdate', 'OnDelete'])];
  }
  const { maxUnavailable, maxSurge } = look(update, 'rollingUpdate');
  const path = 'spec.updateStrategy.rollingUpdate';
  const causes = [
    ...intOrPercentCauses(`${path}.maxUnavailable`, maxUnavailable),
    ...intOrPercentCauses(`${path}.maxSurge`, maxSurge),
  ];
  if (!isNothing(maxUnavailable) && !isNothing(maxSurge)) {
    causes.push(invalidValue(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'));
  }
  if (isNothing(maxUnavailable) && isNothing(maxSurge)) {
    causes.push(requiredValue(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
  }
  return causes;
}

const MAX_INT64 = 2n ** 63n - 1n;

/**
 * The template's generation is a number of the server's own that clients see as an annotation; 0 where a body has none.
 * @throws DecodeError when the annotation is no such number
 */
function templateGeneration(object: ApiObject): number {
  const given = object.metadata.annotations?.[TEMPLATE_GENERATION] ?? '0';
  const problem = (why: string): DecodeError =>
    new DecodeError(`strconv.ParseInt: parsing ${JSON.stringify(given)}: ${why}`, object);
  if (!/^[-+]?\d+$/.test(given)) throw problem('invalid syntax');
  const value = BigInt(given.replace(/^\+/, ''));
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) throw problem('value out of range');
  return Number(value);
}

function annotateGeneration(object: ApiObject, generation: number): void {
  object.metadata.annotations = { ...object.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

/** Pods of a daemon set have no end. */
function endCauses(spec: Plain): StatusCause[] {
  if (look(spec, 'template', 'spec').activeDeadlineSeconds === undefined) return [];
  const why = 'activeDeadlineSeconds in DaemonSet is not Supported';
  return [forbiddenValue('spec.template.spec.activeDeadlineSeconds', why)];
}

export const daemonSetStrategy = strategy({
  setDefaults: defaultDaemonSet,
  prepareForCreate(object) {
    object.status = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    };
    annotateGeneration(object, Math.max(1, templateGeneration(object)));
  },
  prepareForUpdate(object, old, { subresource }) {
    const before = templateGeneration(old);
    const changed = subresource === '' && !jsonEquals(look(object, 'spec', 'template'), look(old, 'spec', 'template'));
    annotateGeneration(object, changed ? before + 1 : before);
  },
  changesFirst: true,
  causes(object) {
    const spec = look(object, 'spec');
    return [
      ...workloadCauses(spec, { kind: 'daemonset', unreadable: null }),
      ...endCauses(spec),
      ...negativeCauses('spec.minReadySeconds', spec.minReadySeconds),
      ...daemonSetUpdateCauses(spec),
      ...negativeCauses('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    ];
  },
  change: immutableSelector,
  statusCauses: statusCountCauses({
    fields: [
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      'collisionCount',
    ],
    collisions: true,
  }),
});

function defaultStatefulSet(object: ApiObject): void {
  const spec = child(object, 'spec');
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  preset(spec, 'podManagementPolicy', 'OrderedReady');
  defaultTemplate(spec);
  const update = child(spec, 'updateStrategy');
  // Only who says nothing at all gets the whole of it.
  if (text(update, 'type') === '')
    Object.assign(update, { type: 'RollingUpdate', rollingUpdate: update.rollingUpdate ?? {} });
  const { rollingUpdate } = update;
  if (update.type === 'RollingUpdate' && isPlain(rollingUpdate)) rollingUpdate.partition ??= 0;
  const retention = child(spec, 'persistentVolumeClaimRetentionPolicy');
  preset(retention, 'whenDeleted', 'Retain');
  preset(retention, 'whenScaled', 'Retain');
  const claims = spec.volumeClaimTemplates;
  for (const claim of Array.isArray(claims) ? claims.filter(isPlain) : []) {
    preset(claim, 'apiVersion', 'v1');
    preset(claim, 'kind', 'PersistentVolumeClaim');
    preset(child(claim, 'spec'), 'volumeMode', 'Filesystem');
    for (const list of ['requests', 'limits']) roundAmounts(look(claim, 'spec', 'resources')[list]);
    preset(child(claim, 'status'), 'phase', 'Pending');
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
  if (name !== '') findings.problems('spec.serviceName', name, labelProblems(name));
  // On an update they may not change, and are not judged again.
  for (const [index, claim] of items(isNew ? spec : {}, 'volumeClaimTemplates').entries()) {
    claimSpecFindings(findings, look(claim, 'spec'), `spec.volumeClaimTemplates[${index}].spec`);
  }
  findings.add(workloadCauses(withClaims(spec), { kind: 'statefulset', unreadable: '' }));
  return findings.causes;
}

/** The pods as they will be, each with a volume for every claim. */
function withClaims(spec: Plain): Plain {
  const claims = items(spec, 'volumeClaimTemplates').map((claim) => {
    const name = text(look(claim, 'metadata'), 'name');
    return { name, persistentVolumeClaim: { claimName: name } };
  });
  if (claims.length === 0) return spec;
  const podSpec = look(spec, 'template', 'spec');
  const names = new Set(claims.map(({ name }) => name));
  const others = items(podSpec, 'volumes').filter((volume) => !names.has(text(volume, 'name')));
  const byName = new Map(claims.map((claim) => [claim.name, claim]));
  const volumes = [...byName.values(), ...others];
  return { ...spec, template: { ...look(spec, 'template'), spec: { ...podSpec, volumes } } };
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

/** The feature is off by default in the real server, which drops its field. */
function dropMaxUnavailable(set: ApiObject): void {
  delete look(set, 'spec', 'updateStrategy', 'rollingUpdate').maxUnavailable;
}

export const statefulSetStrategy: Strategy = {
  // Its name becomes a label of its pods.
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

export const controllerRevisionStrategy: Strategy = {
  validate({ data, revision }) {
    const causes = negativeCauses('revision', revision);
    if (data === undefined) return [...causes, requiredValue('data', 'data is mandatory')];
    return isPlain(data) ? causes : [...causes, requiredValue('data', 'data must be a valid JSON object')];
  },
  validateUpdate: (object, old) => [
    ...negativeCauses('revision', object.revision),
    ...(jsonEquals(object.data, old.data) ? [] : [invalidValue('data', object.data, 'field is immutable')]),
  ],
};
