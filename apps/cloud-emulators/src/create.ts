import type { Clock } from '@mcm/kube';
import { z } from 'zod';
import { AzureClouds } from './arm/clouds.ts';
import { Ec2Endpoint } from './ec2/endpoint.ts';
import type { Provider } from './flags.ts';
import { GceEndpoint } from './gce/endpoint.ts';
import type { Power } from './machines/power.ts';
import type { Emulator } from './server/emulator.ts';
import type { EmulatorStore } from './server/kept.ts';

export interface CreateEmulatorOptions {
  readonly clock: Clock;
  readonly origin: string;
  readonly operationMs: number;
  readonly visibleAfterMs: number;
  readonly pageSize?: number | undefined;
  readonly power?: Power;
  readonly store?: EmulatorStore;
  /** The content of `MCM_EMULATOR_ACCOUNT`, which is JSON. If `account` is undefined, requests need no credentials. */
  readonly account: string | undefined;
}

const named = z.string().min(1);
const hostRole = z.strictObject({
  role: named,
  region: named,
  keys: z.strictObject({ accessKeyId: named, secretAccessKey: named, sessionToken: named }),
});
const federation = z.strictObject({
  audience: named,
  tokens: z.array(named),
  impersonable: z.array(named),
  hostAccounts: z.array(named),
  aws: hostRole,
});

const ACCOUNTS = {
  aws: z.strictObject({
    accessKeyId: named,
    secretAccessKey: named,
    host: hostRole.exactOptional(),
    webIdentity: z.strictObject({ tokens: z.array(named), roles: z.array(named) }).exactOptional(),
  }),
  azure: z.strictObject({
    tenant: named,
    clientId: named,
    secret: named,
    certificate: named.exactOptional(),
    assertion: named.exactOptional(),
    identities: z.strictObject({ system: z.boolean(), users: z.array(named) }).exactOptional(),
  }),
  gcp: z.strictObject({ email: named, key: named, federation: federation.exactOptional() }),
} as const;

/**
 * Creates the emulator of a cloud.
 * @throws Error with the name of the invalid field in the account
 */
export function createEmulator(provider: Provider, options: CreateEmulatorOptions): Emulator {
  const { account, operationMs, visibleAfterMs, ...common } = options;
  switch (provider) {
    case 'aws': {
      const { accessKeyId, secretAccessKey, ...logins } = accountOf('aws', account) ?? {};
      const keys = accessKeyId && secretAccessKey ? { keys: { [accessKeyId]: secretAccessKey } } : {};
      const times = { visibleAfterMs, bootMs: operationMs, shutdownMs: operationMs };
      return new Ec2Endpoint({ ...common, ...keys, ...logins, ...times });
    }
    case 'azure': {
      const { identities, ...known } = accountOf('azure', account) ?? {};
      return new AzureClouds({
        ...common,
        principals: 'tenant' in known ? [known] : undefined,
        identities,
        operationMs,
        graphLagMs: visibleAfterMs,
      });
    }
    case 'gcp': {
      const known = accountOf('gcp', account);
      return new GceEndpoint({
        ...common,
        operationMs,
        visibleAfterMs,
        accounts: known ? [known] : undefined,
        federation: known?.federation || undefined,
      });
    }
    default:
      return provider satisfies never;
  }
}

function accountOf<P extends Provider>(
  provider: P,
  text: string | undefined,
): z.infer<(typeof ACCOUNTS)[P]> | undefined {
  if (!text) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('MCM_EMULATOR_ACCOUNT must be JSON');
  }
  const parsed = ACCOUNTS[provider].safeParse(value);
  // The account is secret, so the error contains only the names of its fields.
  if (!parsed.success)
    throw new Error(
      `MCM_EMULATOR_ACCOUNT: ${parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`,
    );
  return parsed.data as z.infer<(typeof ACCOUNTS)[P]>;
}
