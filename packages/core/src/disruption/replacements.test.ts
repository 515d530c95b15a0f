import { Annotations, Labels, type MachinePhase } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { machine, minutes } from '../set/test-objects.ts';
import { countReplacements, replacementGroup, replacementLimit } from './replacements.ts';

const fleet = (...phases: readonly MachinePhase[]) =>
  phases.map((phase, index) => machine(`m${index}`, { phase, labels: { [Labels.DeploymentName]: 'pool' } }));
const isFree = (machines: ReturnType<typeof fleet>, limit: number | string = 1): boolean =>
  countReplacements(machines, { making: true }) < replacementLimit(limit, machines.length);

/** The original stores permits, and a goroutine removes unused ones. mcm counts the machines in progress instead. */
describe('permits', () => {
  test('a repeated request with another limit allows no further replacement [Z-11]', () => {
    const machines = fleet('Failed', 'Unknown', 'Running');
    expect([isFree(machines), isFree(machines), isFree(machines, 2), isFree(machines)]).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
  test('an unknown group, and one without actions in progress, may replace a machine [Z-12]', () => {
    expect([isFree([]), isFree(fleet('Running', 'Unknown'))]).toEqual([true, true]);
    expect(replacementLimit('10%', 0)).toBe(1);
  });
  test('a replacement counts as long as the machine is not healthy, without a time limit [Z-13, ODD-12]', () => {
    const [old] = fleet('Failed');
    if (!old) throw new Error('no machine');
    const currentStatus = { phase: 'Failed' as const, lastUpdateTime: minutes(-24 * 60) };
    const long = { ...old, status: { ...old.status, currentStatus } };
    expect(isFree([long, ...fleet('Running')])).toBe(false);
    expect(isFree(fleet('Running', 'Running'))).toBe(true);
  });
  test('a machine whose drain cannot end does not count', () => {
    const going = (annotations: Record<string, string>) =>
      fleet('Terminating').map((one) => ({
        ...one,
        metadata: { ...one.metadata, deletionTimestamp: minutes(-1), annotations },
      }));
    expect([isFree(going({})), isFree(going({ [Annotations.Undrained]: 'Hold' }))]).toEqual([false, true]);
  });
  test('groups are deployments, or else owners', () => {
    const [one, two] = fleet('Running', 'Running');
    if (!one || !two) throw new Error('no machine');
    expect(replacementGroup(one)).toBe(replacementGroup(two));
    expect(replacementGroup(machine('x'))).not.toBe(replacementGroup(machine('y')));
  });
});
