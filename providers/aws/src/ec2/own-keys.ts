import type { Clock } from '@mcm/kube';
import { defined } from '@mcm/kube';
import { z } from 'zod';
import { assumedKeys, type StsOptions } from './assume-role.ts';
import { type Keys, NoKeys, within } from './credentials.ts';
import type { Environment } from './environment.ts';
import { containerKeys, type HostOptions, instanceKeys } from './host-keys.ts';
import { readProfiles, type Section } from './shared-config.ts';
import { webIdentity } from './web-identity.ts';

export interface OwnKeysOptions extends HostOptions, StsOptions {}

type Profiles = (name: string) => Section | undefined;

/**
 * Returns a function that requests the keys of the controller itself, for Secrets with blank keys. As in the AWS SDKs,
 * the order of sources is: environment, shared files, workload identity, container, instance. In contrast to the SDK,
 * the function uses the connections of this process. Source:
 * https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 */
export function ownKeys(options: OwnKeysOptions): () => Promise<Keys> {
  const { clock } = options;
  return kept(clock, () => within(clock, 'credentials', (signal) => chain(options, signal)));
}

/** The time before the expiry at which the driver renews the keys. */
const RENEW_BEFORE_MS = 300_000;
/**
 * The expiry that the driver reports to the SDK. With an expiry in the past, the SDK asks for the keys before every
 * request. The SDK would compare a later expiry with the system clock instead of the clock of the process.
 */
const ASK_AGAIN = new Date(0);

/** Caches keys until shortly before their expiry, by the clock of the process. Concurrent requests share one login. */
function kept(clock: Clock, login: () => Promise<Keys>): () => Promise<Keys> {
  let known: { readonly keys: Keys; readonly renewAt: number } | undefined;
  let asking: Promise<Keys> | undefined;
  const renew = async (): Promise<Keys> => {
    const since = clock.now().getTime();
    const { expiration, ...keys } = await login();
    const until = expiration?.getTime() ?? Number.POSITIVE_INFINITY;
    const renewAt = Math.max(until - RENEW_BEFORE_MS, (since + until) / 2);
    known = { keys: { ...keys, expiration: ASK_AGAIN }, renewAt };
    return known.keys;
  };
  return async () => {
    if (known && known.renewAt > clock.now().getTime()) return known.keys;
    asking ??= renew().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

async function chain(options: OwnKeysOptions, signal: AbortSignal): Promise<Keys> {
  const { environment } = options;
  const { AWS_PROFILE: name } = environment.variables;
  const profiles = await readProfiles(environment);
  const found =
    (name ? undefined : ofVariables(environment)) ??
    (await ofProfile(name || 'default', profiles, options, signal, [])) ??
    (await ofWorkload(options)) ??
    (await containerKeys(options, signal)) ??
    (await instanceKeys(options, signal));
  if (found) return found;
  throw new NoKeys(
    'no credentials: the Secret and the environment contain no keys; set the keys, or give the controller a role',
  );
}

function ofVariables({ variables }: Environment): Keys | undefined {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = variables;
  return id && secret
    ? defined({ accessKeyId: id, secretAccessKey: secret, sessionToken: token || undefined })
    : undefined;
}

async function ofWorkload(options: OwnKeysOptions): Promise<Keys | undefined> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile, AWS_ROLE_ARN: roleArn } = options.environment.variables;
  return tokenFile && roleArn ? workload(options, tokenFile, roleArn) : undefined;
}

const workload = (options: OwnKeysOptions, tokenFile: string, roleArn: string): Promise<Keys> => {
  const { readFile } = options.environment;
  return webIdentity({ ...options, readFile, tokenFile, roleArn })();
};

/**
 * Requests the keys of a profile in the shared files.
 * @param before the profiles that refer to this profile
 */
async function ofProfile(
  name: string,
  profiles: Profiles,
  options: OwnKeysOptions,
  signal: AbortSignal,
  before: readonly string[],
): Promise<Keys | undefined> {
  const profile = profiles(name);
  if (!profile) {
    if (before.length === 0) return undefined;
    throw new NoKeys(
      `source_profile of profile ${before.at(-1)} is ${name}, but this profile does not exist; add the profile`,
    );
  }
  const { role_arn: roleArn, web_identity_token_file: tokenFile, credential_process: command } = profile;
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = profile;
  // If a profile refers to itself, its own keys are used to assume the role.
  const isSource = before.includes(name);
  if (roleArn && tokenFile) return workload(options, tokenFile, roleArn);
  if (roleArn && !isSource) return ofRole(name, profile, profiles, options, signal, before);
  if (id && secret) return defined({ accessKeyId: id, secretAccessKey: secret, sessionToken: token || undefined });
  if (command) return ofProcess(command, name, options.environment, signal);
  if (profile.sso_session || profile.sso_start_url || profile.login_session)
    throw new NoKeys(
      `profile ${name} requires a login in a browser, which a controller cannot do; use credential_process = aws configure export-credentials --profile ${name}`,
    );
  if (before.length > 0)
    throw new NoKeys(`profile ${name} is a source_profile but has no credentials; add keys to the profile`);
  return undefined;
}

async function ofRole(
  name: string,
  profile: Section,
  profiles: Profiles,
  options: OwnKeysOptions,
  signal: AbortSignal,
  before: readonly string[],
): Promise<Keys> {
  const { source_profile: source, credential_source: kind, mfa_serial: device } = profile;
  if (device)
    throw new NoKeys(
      `mfa_serial of profile ${name} requires a code, which a controller cannot enter; remove mfa_serial`,
    );
  const own = source
    ? await ofProfile(source, profiles, options, signal, [...before, name])
    : await ofSource(kind, options, signal);
  if (!own)
    throw new NoKeys(
      `role_arn of profile ${name} has no source: set source_profile, or credential_source to Environment, EcsContainer or Ec2InstanceMetadata`,
    );
  return assumedKeys(own, profile, options, signal);
}

async function ofSource(
  kind: string | undefined,
  options: OwnKeysOptions,
  signal: AbortSignal,
): Promise<Keys | undefined> {
  if (kind === 'Environment') return ofVariables(options.environment);
  if (kind === 'EcsContainer') return containerKeys(options, signal);
  return kind === 'Ec2InstanceMetadata' ? instanceKeys(options, signal) : undefined;
}

const processAnswer = z.looseObject({
  Version: z.literal(1),
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  SessionToken: z.string().optional(),
  Expiration: z.iso.datetime({ offset: true }).optional(),
});

/** Runs a program that prints keys. */
async function ofProcess(command: string, name: string, { run }: Environment, signal: AbortSignal): Promise<Keys> {
  if (!run) throw new NoKeys(`this program cannot run credential_process of profile ${name}; use keys or a role`);
  const [program, ...args] = words(command);
  if (!program) throw new NoKeys(`credential_process of profile ${name} is empty; write a command`);
  const output = await run([program, ...args], signal).catch((thrown: unknown) => {
    signal.throwIfAborted();
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'a failure';
    throw new NoKeys(`credential_process of profile ${name} exited with ${code}; run the command to see the error`);
  });
  const reported = z.preprocess(parsed, processAnswer).safeParse(output);
  if (!reported.success)
    throw new NoKeys(
      `credential_process of profile ${name} printed no keys of version 1; run the command to see its output`,
    );
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = reported.data;
  return defined({
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken || undefined,
    expiration: Expiration ? new Date(Expiration) : undefined,
  });
}

/** Splits a command into words. A quoted word may contain blanks, as in the AWS command line. */
const words = (command: string): readonly string[] =>
  (command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_quoted, double?: string, single?: string) => double ?? single ?? ''),
  );

const parsed = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
};
