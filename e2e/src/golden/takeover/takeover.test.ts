import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sampled } from '@mcm/kube/testing';
import { describe, expect, test } from 'vitest';
import { sumOf } from '../common/counts.ts';
import { findSets } from '../sets.ts';
import { EVENT_RULES } from './comparison/event-counts.ts';
import { openEndRules } from './comparison/open-end-rules.ts';
import { RULES } from './comparison/rules.ts';
import { widened } from './comparison/vary.ts';
import { excusedIn } from './excused.ts';
import { parseHistory, readHistories } from './recordings/recording.ts';
import { sameContract } from './same-contract.ts';
import { type Checked, type Reason, takeOver } from './take-over.ts';

const FLOOR = { takeOver: 173, sameContract: 32 };

const histories = await readHistories(fileURLToPath(new URL('../../../testdata/takeover', import.meta.url)));
const reasons: readonly Reason[] = [...RULES, ...openEndRules([]), ...EVENT_RULES];
const states = histories.reduce((sum, { states: all }) => sum + all.length, 0);
const textOf = ({ row, what }: Reason): string => `${row}: ${what}`;

const taken: Checked[] = [];
const played: Checked[] = [];
const replayed: Checked[] = [];

describe.each(histories)('$file', (history) => {
  test.each(sampled([...history.states.keys()], 16, 6))(
    'state %i is taken over, and the end equals that of the original',
    async (index) => {
      const outcome = await takeOver(history, index);
      taken.push(outcome);
      expect(outcome.failure, outcome.name).toBeUndefined();
    },
  );

  test('a replay from the start leads to the same contract', async () => {
    const outcomes: Checked[] = [];
    for await (const outcome of sameContract(history)) outcomes.push(outcome);
    replayed.push(...outcomes);
    played.push(...outcomes);
    expect(outcomes.filter(({ failure }) => failure !== undefined)).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(0);
  });
});

test('never-joins.json with twice as many machines: they are replaced one after the other, and lead to the same contract', async () => {
  const text = await readFile(new URL('../../../testdata/takeover/never-joins.json', import.meta.url), 'utf8');
  for await (const outcome of sameContract(parseHistory('never-joins.json', widened(text)))) {
    played.push(outcome);
    expect(outcome.failure, outcome.name).toBeUndefined();
  }
});

describe('the recordings together', () => {
  const isWhole = (): boolean => taken.length >= states;

  test('the recordings of a takeover contain all known checks', (context) => {
    if (!isWhole()) context.skip('only some of the recordings were run');
    expect(taken.length).toBeGreaterThanOrEqual(FLOOR.takeOver);
    expect(played.length).toBeGreaterThanOrEqual(FLOOR.sameContract);
  });

  test('the rules excuse exactly these parts of the replays', (context) => {
    if (new Set(replayed.map(({ name }) => name.split(' ')[2])).size < histories.length)
      context.skip('only some of the recordings were run');
    expect(sumOf(replayed.map(excusedIn))).toEqual({
      'same contract checks': 31,
      'same contract checks with the rule "A blocked step\'s text: the reason for the wait precedes the text of the step"': 1,
      'same contract checks with the rule "A machine with priority 1 while the replicas do not fall: a machine that is marked for deletion but not deleted gets an event"': 1,
      'same contract checks with the rule "Annotation `deployment.machine.sapcloud.io/protect-new-node` of a Machine: the first write of a machine in a rollout protects its Node from the autoscaler"': 3,
      'same contract checks with the rule "Annotation `machine-class` of a Node: the annotation of a Node contains the class of its machine"': 29,
      'same contract checks with the rule "Annotation `node.machine.sapcloud.io/deleted-for-health` of a Machine: a deleted machine that was Failed gets the annotation"': 1,
      'same contract checks with the rule "Annotation `node.machine.sapcloud.io/replacement` of a Machine: a replacement machine gets the annotation"': 3,
      'same contract checks with the rule "Annotation `revision-history`: a change without a new revision adds no entry to the annotation"': 2,
      'same contract checks with the rule "Another template during an update in place: the in-place update uses the template that was current at the selection of the node"': 4,
      'same contract checks with the rule "Condition `Terminating` of a Node: a Failed machine has no reason ScaleDown"': 1,
      'same contract checks with the rule "Events of a Machine: a machine has events about its node, its failures and its deletion, which the original does not write"': 6,
      'same contract checks with the rule "Failed machines: mcm replaces a machine that fails during another replacement later"': 1,
      'same contract checks with the rule "Finalizer and priority of a Machine: the request that creates a machine sets its priority"': 1,
      'same contract checks with the rule "Finalizer of a Node with nothing to drain: the controller removes the finalizer together with the cordon"': 3,
      'same contract checks with the rule "Finalizer of a Node: the controller sets the finalizer at the first reconcile of the joined machine"': 27,
      'same contract checks with the rule "Names of machines: a MachineSet counts the names of its machines"': 31,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: a rollout is complete after its last machine is deleted"': 1,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: in the original, the node can join before the next reconcile of its machine"': 4,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: sets and deployments no longer count the deleted machines"': 1,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: the controller removes the finalizer of a class without machines"': 1,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: the manager removes the rollout labels and taints of nodes"': 1,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: the original marks a node as a candidate later, or never if a user already selected the node"': 1,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: the original sets the labels and taints of a node only at the second reconcile"': 16,
      'same contract checks with the rule "Steps of a creation, a deletion, a drain: the status omits a deletion step that ends immediately"': 9,
      'steps of mcm between two recorded states, which the recording does not show': 156,
    });
  });

  test('the rules excuse exactly these parts of the take-overs', (context) => {
    if (!isWhole()) context.skip('only some of the recordings were run');
    expect(sumOf(taken.map(excusedIn))).toEqual({});
  });

  test('the recordings of a takeover need every rule', (context) => {
    if (!isWhole()) context.skip('only some of the recordings were run');
    const needed = new Set([...taken, ...played].flatMap(({ used }) => [...used].map(textOf)));
    expect(reasons.map(textOf).filter((text) => !needed.has(text))).toEqual([]);
  });
});

test('a rollout that the original started continues without a replacement', async () => {
  const roll = histories.find(({ file }) => file === 'roll.json');
  const middle = roll?.states.findIndex(({ objects }) => {
    const all = [...objects.values()].filter(({ kind }) => kind === 'Machine');
    return new Set(all.map(({ metadata }) => metadata.labels?.['machine-template-hash'])).size > 1;
  });
  if (!roll || middle === undefined || middle < 0) throw new Error('no state of roll.json has machines of two sets');
  expect((await takeOver(roll, middle)).failure).toBeUndefined();
});

test('an unknown set is refused with the names of the known sets', () => {
  expect(() => findSets(['nonsense'])).toThrow('unknown set "nonsense"; known: takeover');
});

test.each([...new Set(reasons.map(({ row }) => row))])(
  'the rule "%s" has a row in the table of differences',
  async (row) => {
    const docs = await readFile(new URL('../../../../docs/compatibility/differences.md', import.meta.url), 'utf8');
    expect(docs.split('\n').map((line) => line.split('|')[1]?.trim())).toContain(row);
  },
);
