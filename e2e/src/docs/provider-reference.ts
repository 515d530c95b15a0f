import { driverReference, referenceText } from '@mcm/core';
import { AwsCredentials, AwsProviderSpec } from '@mcm/provider-aws';
import { AzureCredentials, AzureProviderSpec } from '@mcm/provider-azure';
import { GcpCredentials, GcpProviderSpec } from '@mcm/provider-gcp';
import { LocalCredentials, LocalProviderSpec } from '@mcm/provider-local';
import type { z } from 'zod';

/** A provider with the schemas of its provider spec and its Secret. */
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

/** Returns all files of the provider reference, by their path in the workspace. */
export function providerReferenceFiles(): ReadonlyMap<string, string> {
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
