import type { MachineDeployment, MachineSet } from '@mcm/api';
import { compileSelector, isEmptySelector } from './selector.ts';

/** A violated rule in a spec: the field, and a message about the rule. */
export interface Violation {
  readonly field: string;
  readonly message: string;
}

export const printViolations = (violations: readonly Violation[]): string =>
  violations.map(({ field, message }) => `${field}: ${message}`).join('; ');

function selectorViolations(spec: MachineSet['spec'] | MachineDeployment['spec']): Violation[] {
  const selector: MachineSet['spec']['selector'] | undefined = spec.selector;
  if (selector === undefined) return [{ field: 'spec.selector', message: 'is required: write labels of the template' }];
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

/** The maximum of an int32, the type of counts in the API. */
const MOST = 2 ** 31 - 1;
export const isCount = (value: number | undefined): boolean => value !== undefined && value >= 0 && value <= MOST;

const replicasViolations = ({ replicas = 0 }: { replicas?: number }): Violation[] =>
  Number.isInteger(replicas) && isCount(replicas)
    ? []
    : [{ field: 'spec.replicas', message: `must be an integer from 0 to ${MOST}` }];

export const poolViolations = (spec: MachineSet['spec'] | MachineDeployment['spec']): readonly Violation[] => [
  ...replicasViolations(spec),
  ...selectorViolations(spec),
  ...classViolations(spec),
];

/** Returns the violations in the spec of a set. */
export const validateSet = ({ spec }: MachineSet): readonly Violation[] => poolViolations(spec);
