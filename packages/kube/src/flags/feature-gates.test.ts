import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../metrics/create-metrics.ts';
import { featureGatesFlag, registerFeatures } from './feature-gates.ts';
import { textFlag } from './flag.ts';
import { parseFlags } from './parse-flags.ts';

const FEATURES = {
  CarefulThings: { stage: 'BETA', help: 'things are done with care' },
  SlowThings: { stage: 'BETA', help: 'things are done slowly' },
  WildThings: { stage: 'ALPHA', help: 'things are done wildly' },
} as const;
const flags = { 'feature-gates': featureGatesFlag(FEATURES), config: textFlag({ default: '', help: 'h' }) };
const program = { name: 'demo', version: '1', description: 'd' };
const DEFAULTS = { CarefulThings: true, SlowThings: true, WildThings: false };

async function states(...argv: string[]) {
  const parsed = await parseFlags(program, flags, argv);
  if (parsed.kind !== 'run') throw new Error('nothing to run');
  return parsed.values['feature-gates'];
}

test.each<[string[], object]>([
  [[], {}],
  [['--feature-gates='], {}],
  [['--feature-gates=WildThings=true'], { WildThings: true }],
  [['--feature_gates= WildThings = TRUE , CarefulThings=0'], { WildThings: true, CarefulThings: false }],
  [['--feature-gates=AllBeta=false'], { CarefulThings: false, SlowThings: false }],
  [['--feature-gates=SlowThings=true,AllBeta=false,AllAlpha=true'], { CarefulThings: false, WildThings: true }],
  [['--feature-gates=WildThings=true', '--feature-gates=SlowThings=false'], { WildThings: true, SlowThings: false }],
])('%j', async (argv, changed) => {
  expect(await states(...argv)).toEqual({ ...DEFAULTS, ...changed });
});

test.each([
  ['CarefullThings=false', 'unknown feature CarefullThings (did you mean CarefulThings?)'],
  ['Zebra=true', '(known features: CarefulThings, SlowThings, WildThings, AllAlpha, AllBeta)'],
  ['SlowThings', '--feature-gates must set SlowThings to true or false, not "SlowThings"'],
  ['SlowThings=maybe', 'must set SlowThings to true or false'],
  ['SlowThings=true=false', 'must set SlowThings to true or false'],
  ['SlowThings=true,SlowThings=false', 'must not set SlowThings to both true and false'],
])('the error for %s names it', async (text, says) => {
  await expect(states(`--feature-gates=${text}`)).rejects.toThrow(says);
});

test('a file may contain a mapping, and the error for a wrong name contains its line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gates-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  await writeFile(file, 'feature-gates:\n  WildThings: true\n  SlowThings: false\n');
  expect(await states(`--config=${file}`)).toEqual({ ...DEFAULTS, WildThings: true, SlowThings: false });
  await writeFile(file, '\nfeature-gates: { WildThing: true }\n');
  await expect(states(`--config=${file}`)).rejects.toThrow(
    `${file}:2: feature-gates must not contain the unknown feature`,
  );
  await writeFile(file, 'config: { a: true }\nfeature-gates: { WildThings: { deep: true } }\n');
  await expect(states(`--config=${file}`)).rejects.toThrow(`${file}:2: feature-gates: must be`);
});

test('the help lists each feature with its stage and default', async () => {
  const parsed = await parseFlags(program, flags, ['--help']);
  const text = parsed.kind === 'print' ? parsed.text.replaceAll(/\s+/g, ' ') : '';
  expect(text).toContain('CarefulThings (BETA, default true): things are done with care');
  expect(text).toContain('WildThings (ALPHA, default false): things are done wildly');
});

test('a metric shows the enabled features, as for components of Kubernetes', async () => {
  const metrics = createMetrics();
  registerFeatures(metrics.meters, FEATURES, await states('--feature-gates=WildThings=true,SlowThings=false'));
  const { text } = await metrics.scrape();
  expect(text).toContain('kubernetes_feature_enabled{name="WildThings",stage="ALPHA"} 1');
  expect(text).toContain('kubernetes_feature_enabled{name="SlowThings",stage="BETA"} 0');
});
