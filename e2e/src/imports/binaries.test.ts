import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../docs/sources.ts';
import { reachedFrom } from './graph.ts';

const VENDORS: Readonly<Record<string, RegExp>> = {
  aws: /^@(aws-sdk|smithy|aws)\//,
  azure: /^@(azure|azure-rest|typespec)\//,
  gcp: /^@google-cloud\/|^(google-|proto3-)/,
};

const BINARIES: readonly [binary: string, entry: string, vendor: string | undefined][] = [
  ['machine-controller-aws', 'providers/aws/src/main.ts', 'aws'],
  ['machine-controller-azure', 'providers/azure/src/main.ts', 'azure'],
  ['machine-controller-gcp', 'providers/gcp/src/main.ts', 'gcp'],
  ['machine-controller-local', 'providers/local/src/main.ts', undefined],
  ['local-cloud', 'providers/local/src/cloud/main.ts', undefined],
  ['machine-controller-manager', 'apps/machine-controller-manager/src/main.ts', undefined],
  ['mcm-conformance', 'packages/conformance/src/main.ts', undefined],
];

test.each(BINARIES)('%s never loads the SDK of another cloud', (_binary, entry, vendor) => {
  const reached = reachedFrom(join(ROOT, entry));
  expect(reached.size).toBeGreaterThan(0);
  const foreign = [...reached].filter(([name]) =>
    Object.entries(VENDORS).some(([each, pattern]) => each !== vendor && pattern.test(name)),
  );
  expect(foreign.map(([name, chain]) => `${name} by ${chain.join(' → ')}`)).toEqual([]);
});

test('the search detects imports: the AWS binary loads the SDK of AWS', () => {
  const names = [...reachedFrom(join(ROOT, 'providers/aws/src/main.ts')).keys()];
  expect(names).toContain('@aws-sdk/client-ec2');
  expect(names).toContain('zod');
});

test('@mcm/core imports no cloud SDK, so users of the driver SDK need none', () => {
  const names = [...reachedFrom(join(ROOT, 'packages/core/src/index.ts')).keys()];
  for (const pattern of Object.values(VENDORS)) expect(names.filter((name) => pattern.test(name))).toEqual([]);
});
