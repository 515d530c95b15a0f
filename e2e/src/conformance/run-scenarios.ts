import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type ConformanceConfig,
  type ConformanceTarget,
  type Outcome,
  outcomeText,
  readConfig,
  runConformance,
} from '@mcm/conformance';
import { expect } from 'vitest';

const KEYS = {
  CONFORMANCE_KEY_ID: 'AKIAFAKEREEF00000001',
  CONFORMANCE_KEY: 'fake/secret+reef-1',
} as const;
export const GCP_KEYS = {
  CONFORMANCE_KEY: JSON.stringify({ type: 'service_account', project_id: 'p', private_key: 'not-to-be-told' }),
} as const;

/**
 * Returns a configuration in `e2e/testdata/conformance`.
 * @param variables the environment from which the Secret in the configuration reads values
 */
export function configOf(
  provider: 'aws' | 'azure' | 'gcp',
  variables: Readonly<Record<string, string>> = KEYS,
): ConformanceConfig {
  const path = fileURLToPath(new URL(`../../testdata/conformance/${provider}.yaml`, import.meta.url));
  return readConfig(path, readFileSync(path, 'utf8'), variables);
}

const reported = (outcomes: readonly Outcome[], state: Outcome['state']): readonly string[] =>
  outcomes.filter((each) => each.state === state).map(({ scenario }) => scenario.name);

/** Runs one scenario, which must pass. The scenarios in `skippable` may be skipped. */
export async function expectScenarioToPass(
  target: ConformanceTarget,
  name: string,
  skippable: readonly string[] = [],
): Promise<void> {
  const { outcomes } = await runConformance(target, { only: name });
  expect(outcomes.map(({ scenario }) => scenario.name)).toEqual([name]);
  for (const outcome of outcomes)
    if (outcome.state !== 'passed' && !(outcome.state === 'skipped' && skippable.includes(name)))
      expect.fail(outcomeText(outcome));
}

/** Runs all scenarios with the emulator of another project. */
export async function expectScenariosToPass(
  target: ConformanceTarget,
  { otherwise = [], skipped }: { readonly otherwise?: readonly string[]; readonly skipped: readonly string[] },
): Promise<void> {
  const { outcomes } = await runConformance(target);
  const failed = outcomes.filter(({ state, scenario }) => state === 'failed' && !otherwise.includes(scenario.name));
  expect(failed.map(outcomeText)).toEqual([]);
  expect(reported(outcomes, 'failed').toSorted()).toEqual(otherwise.toSorted());
  expect(reported(outcomes, 'skipped').toSorted()).toEqual(skipped.toSorted());
}
