import type { Clock } from '@mcm/kube';
import { type Keys, keysOf } from './credentials.ts';
import type { Reach } from './reach.ts';
import type { createRequestHandler } from './request-handler.ts';
import type { Section } from './shared-config.ts';

export interface StsOptions {
  readonly region: string;
  readonly clock: Clock;
  readonly requestHandler: ReturnType<typeof createRequestHandler>;
  readonly reach: Reach;
}

export async function assumedKeys(
  own: Keys,
  profile: Section,
  { region, clock, requestHandler, reach }: StsOptions,
  signal: AbortSignal,
): Promise<Keys> {
  const { role_arn, role_session_name, external_id, duration_seconds } = profile;
  const { AssumeRoleCommand, STSClient } = await import('@aws-sdk/client-sts');
  const client = new STSClient({ region, maxAttempts: 1, requestHandler, credentials: own, ...reach });
  const command = new AssumeRoleCommand({
    RoleArn: role_arn,
    RoleSessionName: role_session_name ?? `mcm-${clock.now().getTime()}`,
    ExternalId: external_id || undefined,
    DurationSeconds: duration_seconds ? Number(duration_seconds) : undefined,
  });
  const { Credentials } = await client.send(command, { abortSignal: signal });
  return keysOf('AssumeRole', Credentials);
}
