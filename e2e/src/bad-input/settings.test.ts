import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampled } from '@mcm/kube/testing';
import { sharedBundle } from '@mcm/tools/bundles';
import { expect, test } from 'vitest';

/** Tests invalid settings of machine controllers. */

interface Ended {
  readonly code: number;
  readonly said: string;
}

async function run(
  provider: string,
  variables: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
  until?: string,
): Promise<Ended> {
  const program = await sharedBundle(`machine-controller-${provider}`);
  const env = { PATH: process.env.PATH ?? '', ...variables };
  const child = spawn(process.execPath, [program, '--namespace=n', ...flags], { env });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      if (until !== undefined && said.includes(until)) child.kill('SIGTERM');
    });
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)));
  return { code, said };
}

const refused: readonly (readonly [provider: string, variables: Readonly<Record<string, string>>, says: string])[] = [
  [
    'aws',
    { AWS_ENDPOINT_URL_EC2: 'http://ec2.example.net' },
    'AWS_ENDPOINT_URL_EC2 is http://ec2.example.net, and plain http is only for loopback addresses: use https, or set MCM_ALLOW_PLAIN_HTTP=true',
  ],
  [
    'azure',
    { AZURE_RESOURCE_MANAGER_ENDPOINT: 'https://arm.example.net/one/path' },
    'AZURE_RESOURCE_MANAGER_ENDPOINT must not contain the path /one/path: write https://arm.example.net',
  ],
  [
    'gcp',
    { GOOGLE_CLOUD_UNIVERSE_DOMAIN: 'https://universe.example/token-of-somebody' },
    'GOOGLE_CLOUD_UNIVERSE_DOMAIN must be a domain without https://, such as googleapis.com',
  ],
  [
    'aws',
    { AWS_RETRY_MODE: 'brave' },
    'AWS_RETRY_MODE=brave must be standard or adaptive; correct or remove the variable',
  ],
  [
    'azure',
    { MCM_FLAG_AZURE_CLOUD: 'AzureMars' },
    'MCM_FLAG_AZURE_CLOUD must be one of AzurePublic, AzureChina, AzureGovernment, not "AzureMars"',
  ],
  [
    'azure',
    { MCM_FLAG_AUTHORITY_HOST: 'https://somebody:secret@login.example.net' },
    '--authority-host must not contain a user or password: write https://host[:port]',
  ],
  ['local', { MCM_LOCAL_BACKEND: 'podman' }, 'MCM_LOCAL_BACKEND is "podman"; write cloud or pod'],
];
test.each(sampled(refused, 3))(
  '%s: an invalid setting ends the process with an error that contains its name',
  { timeout: 120_000 },
  async (provider, variables, says) => {
    const { code, said } = await run(provider, variables);
    expect(said).toBe(`machine-controller-${provider}: ${says}\n`);
    expect(code).toBe(1);
  },
);

const KUBECONFIG = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`;

test.each([
  [
    'aws',
    { AWS_ENDPOINT_URL_EC2: 'https://ec2.example.net/', AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' },
    '"endpoints":{"AWS_ENDPOINT_URL_EC2":"https://ec2.example.net"}',
    'AWS_ROLE_ARN is set, but AWS_WEB_IDENTITY_TOKEN_FILE is not set',
  ],
  [
    'azure',
    { AZURE_AUTHORITY_HOST: 'https://login.example.net/' },
    '"endpoints":{"AZURE_AUTHORITY_HOST":"https://login.example.net"}',
  ],
  [
    'gcp',
    { GOOGLE_CLOUD_UNIVERSE_DOMAIN: 'apis.example' },
    '"endpoints":{"GOOGLE_CLOUD_UNIVERSE_DOMAIN":"apis.example"}',
  ],
  ['gcp', {}, '"msg":"starting"'],
])(
  '%s: the endpoints in use are logged once at the start, with warnings',
  { timeout: 120_000 },
  async (provider, variables, says, warns = '') => {
    const folder = mkdtempSync(join(tmpdir(), 'mcm settings '));
    try {
      const file = join(folder, 'kubeconfig');
      writeFileSync(file, KUBECONFIG);
      const flags = [`--control-kubeconfig=${file}`, `--target-kubeconfig=${file}`, '--port=0'];
      const { said } = await run(provider, variables, flags, 'ECONNREFUSED');
      expect(said.split(says)).toHaveLength(2);
      expect(said).toContain(warns);
      expect(said.includes('"endpoints"')).toBe(Object.keys(variables).length > 0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
