import { type MachineDeployment, ORCHESTRATION_TYPES, STRATEGY_TYPES } from '@mcm/api';
import { type IntOrPercent, resolveIntOrPercent } from '../objects/limits.ts';
import { isCount, poolViolations, type Violation } from '../objects/violations.ts';
import { rolloutSettingViolations } from '../rollout/rollout-gate.ts';
import { parseRules } from '../rollout/windows/parse.ts';
import { parseZones } from '../zones/setting.ts';

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
  if (block === undefined) return [{ field, message: `must be set for the type ${type}` }];
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

/**
 * Returns the problems of a deployment. The controllers validate each deployment, because the API server may have
 * stored an invalid deployment.
 */
export const validateDeployment = (deployment: MachineDeployment): readonly Violation[] => [
  ...poolViolations(deployment.spec),
  ...strategyViolations(deployment.spec),
  ...rolloutSettingViolations(deployment),
  ...parseRules(deployment.metadata.annotations).violations,
  ...parseZones(deployment).problems,
];
