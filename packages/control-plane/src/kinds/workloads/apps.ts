import { negativeCauses } from '../../apimachinery/errors/causes.ts';
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { child, look, type Plain, preset, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { DecodeError } from '../../resources/shape.ts';
import { shownSelector } from '../base/selector.ts';
import { type Strategy, strategy, withStatus } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';
import { statusCountCauses } from './status-counts.ts';
import { defaultTemplate, intOrPercentCauses, isNothing, percentCauses, workloadCauses } from './template.ts';

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
  return [...causes, ...percentCauses(`${path}.maxUnavailable`, maxUnavailable)];
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

/** Validates that `minReadySeconds` is less than the progress deadline of the rollout. */
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
  const isRolling = update.type === 'RollingUpdate';
  if (!isRolling && !isRecord(update.rollingUpdate)) return;
  const rolling = child(update, 'rollingUpdate');
  // In the internal type of kube-apiserver, both `maxUnavailable` and `maxSurge` always have a value.
  rolling.maxUnavailable ??= isRolling ? 1 : 0;
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
    ...percentCauses(`${path}.maxUnavailable`, maxUnavailable),
    ...percentCauses(`${path}.maxSurge`, maxSurge),
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
 * Returns the template generation, which is an annotation for clients and a field in kube-apiserver's internal type.
 * @throws DecodeError if the annotation is not a valid number
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

/** Validates that pods of a DaemonSet run permanently. */
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

export const controllerRevisionStrategy: Strategy = {
  validate({ data, revision }) {
    const causes = negativeCauses('revision', revision);
    if (data === undefined) return [...causes, requiredValue('data', 'data is mandatory')];
    return isRecord(data) ? causes : [...causes, requiredValue('data', 'data must be a valid JSON object')];
  },
  validateUpdate: (object, old) => [
    ...negativeCauses('revision', object.revision),
    ...(jsonEquals(object.data, old.data) ? [] : [invalidValue('data', object.data, 'field is immutable')]),
  ],
};
