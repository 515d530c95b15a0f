import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { driverReference, referenceText } from '@mcm/core';
import { AwsCredentials, AwsProviderSpec } from '@mcm/provider-aws';
import { AzureCredentials, AzureProviderSpec } from '@mcm/provider-azure';
import { GcpCredentials, GcpProviderSpec } from '@mcm/provider-gcp';
import { LocalCredentials, LocalProviderSpec } from '@mcm/provider-local';
import type { z } from 'zod';
import { ROOT } from './sources.ts';

/** A provider with the schemas that its classes are read by. */
export interface ProviderSchemas {
  readonly name: string;
  readonly providerSpec: z.ZodType;
  readonly credentialsSchema: z.ZodType;
}

export const PROVIDERS: readonly ProviderSchemas[] = [
  { name: 'aws', providerSpec: AwsProviderSpec, credentialsSchema: AwsCredentials },
  { name: 'azure', providerSpec: AzureProviderSpec, credentialsSchema: AzureCredentials },
  { name: 'gcp', providerSpec: GcpProviderSpec, credentialsSchema: GcpCredentials },
  { name: 'local', providerSpec: LocalProviderSpec, credentialsSchema: LocalCredentials },
];

/** Every generated file of the provider reference: its path in the workspace, and its text. */
export function referenceFiles(): ReadonlyMap<string, string> {
  return new Map(
    PROVIDERS.flatMap((provider) => {
      const reference = driverReference(provider);
      const base = `docs/providers/reference/${provider.name}`;
      return [
        [`${base}.md`, referenceText(reference)],
        [`${base}.schema.gen.json`, `${JSON.stringify(reference, null, 2)}\n`],
      ] as const;
    }),
  );
}

/** Those of the files that are not as they must be. */
export const staleFiles = (): readonly string[] =>
  [...referenceFiles()].filter(([path, text]) => read(join(ROOT, path)) !== text).map(([path]) => path);

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes what is stale. @returns paths of the files written */
export function writeReference(): readonly string[] {
  const stale = staleFiles();
  for (const path of stale) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), referenceFiles().get(path) ?? '');
  }
  return stale;
}
