import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineFlags } from '@mcm/core';
import type { Flag, Flags } from '@mcm/kube';
import { machineConfigController } from '@mcm/machine-config-controller';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { expect, test } from 'vitest';
import { ROOT } from '../harness/mcm.ts';

/** Returns the flags of a program that are off by default, without the common flags. */
const optIns = (flags: Flags): string[] =>
  Object.entries<Flag<unknown>>(flags)
    .filter(([, { fallback, ignored }]) => ignored === undefined && (fallback === false || fallback === 0))
    .map(([name]) => `--${name}`);

test('the page of settings contains every flag that enables an optional feature, in addition to the feature gates', () => {
  const page = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
  const [, section = ''] = /## Feature gates\n([\s\S]*?)\n## /.exec(page) ?? [];
  const named = [...section.matchAll(/^\|[^|]*\| `(--[a-z-]+)`/gm)].map(([, flag = '']) => flag);
  const own = [machineControllerManager.flags, machineFlags, machineConfigController.flags].flatMap(optIns);
  expect(named.toSorted()).toEqual([...own, '--observe-only'].toSorted());
});
