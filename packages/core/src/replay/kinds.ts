import { isRecord } from '@mcm/kube';
import { planRollout } from '../deployment/plan.ts';
import { type DeploymentInput, deploymentSnapshot } from '../deployment/recorded-decision.ts';
import { PlanRefused } from '../deployment/state/guard.ts';
import { planDrain } from '../drain/drain.ts';
import type { DrainObservation } from '../drain/model/observation.ts';
import { DECISION_KINDS, type DecisionKind } from '../journal/journal.ts';
import type { MachineObservation } from '../machine/model/observation.ts';
import { nextStep } from '../machine/next-step.ts';
import { type OrphanNodeInput, planOrphanNode } from '../safety/orphans/orphan-nodes.ts';
import { type OrphanVmInput, orphanVerdict } from '../safety/orphans/verdict.ts';
import { type OvershootInput, planOvershoot } from '../safety/overshoot/overshoot-rules.ts';
import { type SetInput, setSnapshot } from '../set/replicas/recorded-replicas.ts';
import { planReplicas } from '../set/replicas/replicas.ts';
import { BadRecord, type Json } from './codec.ts';
import { decisionJson } from './decision-json.ts';

interface Repeatable {
  readonly needs: readonly string[];
  /** Computes a decision again from an input with all fields of `needs`. */
  readonly decide: (input: unknown, now: Date) => unknown;
  readonly parts?: (input: unknown, now: Date) => Readonly<Record<string, unknown>>;
}

/** The refusal of a plan. A replay compares a refusal like any other result. */
interface Refused {
  readonly refused: string;
}

function rollout(input: DeploymentInput, now: Date): unknown {
  try {
    return planRollout(deploymentSnapshot(input, now));
  } catch (error) {
    if (error instanceof PlanRefused) return { refused: error.message } satisfies Refused;
    throw error;
  }
}

const DECISIONS: Readonly<Record<DecisionKind, Repeatable>> = {
  machinedeployment: {
    needs: ['deployment', 'sets', 'machines', 'creating', 'leaving'],
    decide: (input, now) => rollout(input as DeploymentInput, now),
  },
  machineset: {
    needs: ['set', 'machines', 'deleting', 'nodes'],
    decide: (input, now) => planReplicas(setSnapshot(input as SetInput, now)),
  },
  overshoot: {
    needs: ['set', 'machines', 'safetyUp', 'safetyDown'],
    decide: (input) => planOvershoot(input as OvershootInput),
  },
  machine: {
    needs: ['machine', 'settings', 'calls', 'driver'],
    decide: (input, now) => nextStep(input as MachineObservation, now),
    parts: (input, now) => {
      const { drain } = input as MachineObservation;
      return drain === undefined ? {} : { drain: planDrain(drain, now) };
    },
  },
  drain: {
    needs: ['nodeName', 'pods', 'memory', 'evictUntil', 'forceAt'],
    decide: (input, now) => planDrain(input as DrainObservation, now),
  },
  orphanvm: {
    needs: ['vm', 'use', 'view', 'policy'],
    decide: (input, now) => orphanVerdict(input as OrphanVmInput, now),
  },
  orphannode: {
    needs: ['node', 'namespace', 'minAgeMs', 'confirmAfterMs', 'listings'],
    decide: (input, now) => planOrphanNode(input as OrphanNodeInput, now),
  },
};

export const isDecisionKind = (kind: string): kind is DecisionKind => DECISION_KINDS.some((each) => each === kind);

export function completeDecision(kind: DecisionKind, input: unknown, decision: unknown, now: Date): Json {
  const json = decisionJson(decision);
  const parts = DECISIONS[kind].parts?.(input, now);
  if (parts === undefined || json === null || typeof json !== 'object' || Array.isArray(json)) return json;
  return { ...json, ...(decisionJson(parts) as { readonly [key: string]: Json }) };
}

/**
 * Computes a decision again from its recorded input and time.
 * @throws BadRecord if the input lacks a field
 * @throws NotRecorded if this version of mcm needs a value that the record
 * does not contain
 */
export function repeatDecision(kind: DecisionKind, input: unknown, now: Date): Json {
  const { needs, decide } = DECISIONS[kind];
  if (!isRecord(input)) throw new BadRecord('the input of the record has no fields');
  const missing = needs.filter((field) => input[field] === undefined);
  if (missing.length > 0) throw new BadRecord(`the input lacks ${missing.join(', ')}`);
  if (Number.isNaN(now.getTime())) throw new BadRecord('the time of the record is invalid');
  return completeDecision(kind, input, decide(input, now), now);
}
