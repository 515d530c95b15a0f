import { Annotations, Labels, type MachinePhase } from '@mcm/api';
import { describe, expect, test } from 'vitest';
import { type MachineOptions, machine, minutes, set } from '../set/test-objects.ts';
import { countReplacements, replacementGroup, replacementLimit, waitsForMaking } from './replacements.ts';

const fleet = (...phases: readonly MachinePhase[]) =>
  phases.map((phase, index) => machine(`m${index}`, { phase, labels: { [Labels.DeploymentName]: 'pool' } }));
const isFree = (machines: ReturnType<typeof fleet>, limit: number | string = 1): boolean =>
  countReplacements(machines, { making: true }) < replacementLimit(limit, machines.length);

/** The original stores permits in a goroutine. mcm has no permits, and counts the replacements in progress. */
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
    const [a, b] = [set('a', 1), set('b', 1)].map((owner) => [machine('x', { owner }), machine('y', { owner })]);
    const groups = [...(a ?? []), ...(b ?? [])].map(replacementGroup);
    expect([groups[0] === groups[1], groups[2] === groups[3], groups[1] === groups[2]]).toEqual([true, true, false]);
  });
  test('a limit that cannot be parsed allows one', () => {
    expect([replacementLimit('many', 10), replacementLimit('25%', 10), replacementLimit(3, 10)]).toEqual([1, 2, 3]);
  });
  test.each<[what: string, options: MachineOptions, making: boolean, counts: boolean]>([
    ['that runs', { phase: 'Running' }, true, false],
    ['that is unreachable', { phase: 'Unknown' }, true, false],
    ['without a phase', {}, true, true],
    ['without a phase, if machines in creation do not count', {}, false, false],
    ['that is being created', { phase: 'Pending' }, true, true],
    ['that is being created, if such machines do not count', { phase: 'Pending' }, false, false],
    ['that failed, if machines in creation do not count', { phase: 'Failed' }, false, true],
    ['that failed and is preserved', { phase: 'Failed', preservedUntil: 60 }, true, false],
    ['that is deleted although it was preserved', { phase: 'Terminating', preservedUntil: 60 }, true, true],
  ])('a machine %s: whether it counts', (_what, options, making, counts) => {
    expect(countReplacements([machine('m', options)], { making })).toBe(counts ? 1 : 0);
  });
  test('an unhealthy machine waits for machines in creation for twice its health timeout [incident 14]', () => {
    expect(waitsForMaking(minutes(0), 600_000)).toEqual(new Date(minutes(20)));
  });
});
