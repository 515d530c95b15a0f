import { Annotations, Labels, type MachinePhase } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { machine, minutes } from '../set/test-objects.ts';
import { countReplacements, replacementGroup, replacementLimit } from './replacements.ts';

const fleet = (...phases: readonly MachinePhase[]) =>
  phases.map((phase, index) => machine(`m${index}`, { phase, labels: { [Labels.DeploymentName]: 'pool' } }));
const isFree = (machines: ReturnType<typeof fleet>, limit: number | string = 1): boolean =>
  countReplacements(machines, { making: true }) < replacementLimit(limit, machines.length);

/** The original keeps permits in a store with a janitor; here what is under way is counted from the machines. */
describe('permits', () => {
  test('Z-11 asked again, and with another limit: what is taken stays taken', () => {
    const machines = fleet('Failed', 'Unknown', 'Running');
    expect([isFree(machines), isFree(machines), isFree(machines, 2), isFree(machines)]).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
  test('Z-12 a group of which nothing is known is free and has a place, as has one with nothing under way', () => {
    expect([isFree([]), isFree(fleet('Running', 'Unknown'))]).toEqual([true, true]);
    expect(replacementLimit('10%', 0)).toBe(1);
  });
  test('Z-13, ODD-12 a place is held as long as the machine is not well, however long ago it was taken', () => {
    const [old] = fleet('Failed');
    if (!old) throw new Error('no machine');
    const currentStatus = { phase: 'Failed' as const, lastUpdateTime: minutes(-24 * 60) };
    const long = { ...old, status: { ...old.status, currentStatus } };
    expect(isFree([long, ...fleet('Running')])).toBe(false);
    expect(isFree(fleet('Running', 'Running'))).toBe(true);
  });
  test('a machine whose drain cannot end holds no place', () => {
    const going = (annotations: Record<string, string>) =>
      fleet('Terminating').map((one) => ({
        ...one,
        metadata: { ...one.metadata, deletionTimestamp: minutes(-1), annotations },
      }));
    expect([isFree(going({})), isFree(going({ [Annotations.Undrained]: 'Hold' }))]).toEqual([false, true]);
  });
  test('groups are deployments; without one the owner', () => {
    const [one, two] = fleet('Running', 'Running');
    if (!one || !two) throw new Error('no machine');
    expect(replacementGroup(one)).toBe(replacementGroup(two));
    expect(replacementGroup(machine('x'))).not.toBe(replacementGroup(machine('y')));
  });
});
