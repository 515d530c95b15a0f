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
  { rule: '(a)', what: 'creates a VM twice', from: 11, defect: 'tokenless' },
  { rule: '(b)', what: 'removes machines before their VMs', from: 1, defect: 'deletesNoVm' },
  { rule: '(c)', what: 'deletes VMs before their drains', from: 1, defect: 'hidesPods' },
  { rule: '(c)', what: 'evicts no pod before the drain timeout', from: 7, defect: 'evictsNoPod' },
  { rule: '(d)', what: 'deletes pods instead of evicting them', from: 2, defect: 'deletesPods' },
  { rule: '(d)', what: 'deletes disruption budgets', from: 15, defect: 'deletesBudgets' },
  { rule: '(d)', what: 'evicts pods from nodes that are not drained', from: 1, defect: 'evictsFromAllNodes' },
  { rule: '(e)', what: 'deletes VMs before their volumes are detached', from: 33, defect: 'hidesVolumes' },
  { rule: '(e)', what: 'detaches mounted volumes', from: 41, defect: 'detachesMountedVolumes' },
  { rule: '(f)', what: 'does not report the cause of a wait', from: 1, defect: 'hidesWaits' },
  { rule: '(g)', what: 'sends only one request to the cloud at a time', from: 1, defect: 'oneCallAtATime' },
  { rule: '(g)', what: 'stops all other work during a drain', from: 26, defect: 'blocksInDrains' },
  { rule: '(h)', what: 'writes credentials to a status', from: 1, defect: 'leaksInStatus' },
  { rule: '(h)', what: 'writes credentials to events', from: 1, defect: 'leaksInEvents' },
  { rule: '(h)', what: 'writes credentials to the evidence of a failure', from: 11, defect: 'leaksInEvidence' },
  { rule: '(h)', what: 'logs credentials', from: 1, defect: 'leaksInLogs' },
  { rule: '(i)', what: 'writes in each reconciliation', from: 28, defect: 'writesAlways' },
];

test.each(sampled(MUTANTS, 3))('$rule: a controller that $what is reported', async ({ rule, from, defect }) => {
  const caught: string[] = [];
  for (let seed = from; seed < from + SEEDS && !caught.some((text) => text.includes(` ${rule} `)); seed += 1) {
    const { violations } = await playMachines({ seed, defect: DEFECTS[defect]() });
    caught.push(...violations.map((text) => `seed ${seed}: ${text}`));
  }
  expect(caught.join('\n')).toContain(` ${rule} `);
});
