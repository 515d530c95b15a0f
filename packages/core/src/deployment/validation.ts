import { type MachineDeployment, type MachineSet, ORCHESTRATION_TYPES, STRATEGY_TYPES } from '@mcm/api';
import { compileSelector, isEmptySelector } from '../set/selector.ts';
import { type IntOrPercent, resolveIntOrPercent } from './limits.ts';
import { careViolations } from './rollout-gate.ts';

/** What is wrong with a spec: the field and what it must be. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

export const printViolations = (violations: readonly Violation[]): string =>
  violations.map(({ field, message }) => `${field}: ${message}`).join('; ');

/** Rules of a selector and the template it must select. */
function selectorViolations(spec: MachineSet['spec'] | MachineDeployment['spec']): Violation[] {
  // A stored object may lack what its type promises: the original's process ends there (BUG-15 of docs/rules.md).
  const selector: MachineSet['spec']['selector'] | undefined = spec.selector;
  if (selector === undefined) return [{ field: 'spec.selector', message: 'is required: labels of the template' }];
  try {
    const matches = compileSelector(selector);
    if (isEmptySelector(selector) || matches(spec.template?.metadata?.labels)) return [];
  } catch (error) {
    return [
      { field: 'spec.selector.matchExpressions', message: error instanceof Error ? error.message : String(error) },
    ];
  }
  return [{ field: 'spec.selector.matchLabels', message: 'must match spec.template.metadata.labels' }];
}

function classViolations(spec: MachineSet['spec'] | MachineDeployment['spec']): Violation[] {
  const reference: Partial<MachineSet['spec']['template']['spec']['class']> | undefined = spec.template?.spec?.class;
  const field = 'spec.template.spec.class';
  return [
    ...(reference?.kind
      ? []
      : [{ field: `${field}.kind`, message: 'must not be empty: the kind of the class, such as MachineClass' }]),
    ...(reference?.name ? [] : [{ field: `${field}.name`, message: 'must not be empty: the name of a MachineClass' }]),
  ];
}

/** The fields are int32 on the wire. */
const MOST = 2 ** 31 - 1;
const isCount = (value: number | undefined): boolean => value !== undefined && value >= 0 && value <= MOST;

const replicasViolations = ({ replicas = 0 }: { replicas?: number }): Violation[] =>
  Number.isInteger(replicas) && isCount(replicas)
    ? []
    : [{ field: 'spec.replicas', message: `must be an integer from 0 to ${MOST}` }];

function budgetViolation(field: string, value: IntOrPercent | undefined, replicas: number): Violation[] {
  const resolved = resolveIntOrPercent(value, replicas, 'up');
  if (isCount(resolved)) return [];
  return [{ field, message: 'must be an integer of 0 or more, or a percentage such as "25%"' }];
}

function strategyViolations({ strategy, replicas = 0 }: MachineDeployment['spec']): Violation[] {
  const type: string | undefined = strategy?.type;
  if (type === undefined || !(STRATEGY_TYPES as readonly string[]).includes(type)) {
    return [{ field: 'spec.strategy.type', message: 'must be one of InPlaceUpdate, Recreate, RollingUpdate' }];
  }
  if (type === 'Recreate') return [];
  const name = type === 'RollingUpdate' ? 'rollingUpdate' : 'inPlaceUpdate';
  const field = `spec.strategy.${name}`;
  const block = strategy?.[name];
  if (block === undefined) return [{ field, message: `must be given with type ${type}` }];
  const orchestration: string | undefined =
    type === 'InPlaceUpdate' ? strategy?.inPlaceUpdate?.orchestrationType : 'Auto';
  return [
    ...budgetViolation(`${field}.maxUnavailable`, block.maxUnavailable, replicas),
    ...budgetViolation(`${field}.maxSurge`, block.maxSurge, replicas),
    ...((ORCHESTRATION_TYPES as readonly (string | undefined)[]).includes(orchestration)
      ? []
      : [{ field: `${field}.orchestrationType`, message: 'must be Auto or Manual' }]),
  ];
}

/** What is wrong with a deployment; the controllers check too, whatever admission let pass. Empty: nothing. */
export const validateDeployment = (deployment: MachineDeployment): readonly Violation[] => [
  ...replicasViolations(deployment.spec),
  ...strategyViolations(deployment.spec),
  ...selectorViolations(deployment.spec),
  ...classViolations(deployment.spec),
  ...careViolations(deployment),
];

/** What is wrong with a set. Empty: nothing. */
export const validateSet = (set: MachineSet): readonly Violation[] => [
  ...replicasViolations(set.spec),
  ...selectorViolations(set.spec),
  ...classViolations(set.spec),
];
