import { sampled } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { DEFECTS } from './defects.ts';
import { playMachines } from './machine-history.ts';

/** Tests the verifiers with defective controllers. */

const SEEDS = 40;

interface Mutant {
  readonly rule: string;
  readonly what: string;
  readonly from: number;
  readonly defect: keyof typeof DEFECTS;
}

const MUTANTS: readonly Mutant[] = [
  { rule: '(a)', what: 'makes a VM twice', from: 35, defect: 'tokenless' },
  { rule: '(b)', what: 'lets machines go before their VMs', from: 1, defect: 'deletesNoVm' },
  { rule: '(c)', what: 'deletes VMs before their drains', from: 1, defect: 'blindToPods' },
  { rule: '(c)', what: 'evicts nobody, but forces at the deadline', from: 7, defect: 'evictsNobody' },
  { rule: '(d)', what: 'deletes pods and asks no budget', from: 2, defect: 'deletesPods' },
  { rule: '(d)', what: 'suspends budgets', from: 15, defect: 'suspendsBudgets' },
  { rule: '(d)', what: 'evicts pods off nodes that stay', from: 1, defect: 'evictsAnybody' },
  { rule: '(e)', what: 'deletes VMs before volumes are off', from: 3, defect: 'blindToVolumes' },
  { rule: '(e)', what: 'takes volumes off that are mounted', from: 14, defect: 'tearsVolumesOff' },
  { rule: '(f)', what: 'does not say what it waits for', from: 10, defect: 'mute' },
  { rule: '(g)', what: 'calls the cloud once at a time', from: 1, defect: 'oneCallAtATime' },
  { rule: '(g)', what: 'sleeps while a drain waits', from: 10, defect: 'sleepsInDrains' },
  { rule: '(h)', what: 'tells credentials in a status', from: 1, defect: 'tattlesInStatus' },
  { rule: '(h)', what: 'tells credentials in events', from: 1, defect: 'tattlesInEvents' },
  { rule: '(h)', what: 'tells credentials in evidence', from: 11, defect: 'tattlesInEvidence' },
  { rule: '(h)', what: 'logs credentials', from: 1, defect: 'tattlesInLogs' },
  { rule: '(i)', what: 'writes at each look', from: 58, defect: 'restless' },
];

test.each(sampled(MUTANTS, 3))('$rule: a controller that $what is reported', async ({ rule, from, defect }) => {
  const caught: string[] = [];
  for (let seed = from; seed < from + SEEDS && !caught.some((text) => text.includes(` ${rule} `)); seed += 1) {
    const { violations } = await playMachines({ seed, defect: DEFECTS[defect]() });
    caught.push(...violations.map((text) => `seed ${seed}: ${text}`));
  }
  expect(caught.join('\n')).toContain(` ${rule} `);
});
