import { expect, test } from 'vitest';
import { checkEnvironment } from './check-environment.ts';
import { type Environment, maxAttemptsOf } from './environment.ts';

const withVariables = (
  variables: Environment['variables'],
  files: Readonly<Record<string, string>> = {},
): Environment => ({ variables, readFile: async (path) => files[path] });

test.each(['many', '-1', '1.5'])('AWS_MAX_ATTEMPTS=%s is refused with the name of the variable', async (text) => {
  const environment = withVariables({ AWS_MAX_ATTEMPTS: text });
  await expect(checkEnvironment(environment)).rejects.toThrow(
    `AWS_MAX_ATTEMPTS=${text} must be a number of at least 1`,
  );
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['0', 1],
  ['7', 7],
])('AWS_MAX_ATTEMPTS=%s is read', (text, attempts) => {
  expect(maxAttemptsOf(withVariables({ AWS_MAX_ATTEMPTS: text }))).toBe(attempts);
});

test('an unknown AWS_RETRY_MODE is refused with its name, and known ones are valid in any letter case', async () => {
  await expect(checkEnvironment(withVariables({ AWS_RETRY_MODE: 'brave' }))).rejects.toThrow(
    'AWS_RETRY_MODE=brave must be standard or adaptive',
  );
  await checkEnvironment(withVariables({ AWS_RETRY_MODE: 'Adaptive' }));
});

test.each([
  ['/home/someone/.aws/config', '[profile ours]', {}],
  ['/home/someone/.aws/credentials', '[ours]', {}],
  ['/etc/aws', '[ profile  ours ]', { AWS_CONFIG_FILE: '/etc/aws' }],
])('AWS_PROFILE is found in %s, and is refused with its name if no file contains it', async (path, text, more) => {
  const variables = { HOME: '/home/someone', AWS_PROFILE: 'ours', ...more };
  await checkEnvironment(withVariables(variables, { [path]: text }));
  await expect(checkEnvironment(withVariables(variables, { [path]: '[profile theirs]' }))).rejects.toThrow(
    'the shared configuration files do not contain profile ours of AWS_PROFILE',
  );
});

test.each([
  [
    { AWS_EC2_METADATA_SERVICE_ENDPOINT: '169.254.169.254' },
    'AWS_EC2_METADATA_SERVICE_ENDPOINT must be an http or https URL',
  ],
  [
    { AWS_EC2_METADATA_SERVICE_ENDPOINT: 'ftp://169.254.169.254' },
    'AWS_EC2_METADATA_SERVICE_ENDPOINT must be an http or https URL',
  ],
  [{ AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: 'ipv6' }, 'AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE=ipv6 must be'],
])('an invalid address of the metadata service is refused with its variable: %o', async (variables, says) => {
  await expect(checkEnvironment(withVariables(variables))).rejects.toThrow(says);
  await checkEnvironment(withVariables({ AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://[fd00:ec2::254]' }));
});

test.each([
  [{ AWS_ACCESS_KEY_ID: 'AKIA' }, ['AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not']],
  [{ AWS_ROLE_ARN: 'arn' }, ['AWS_ROLE_ARN is set, but AWS_WEB_IDENTITY_TOKEN_FILE is not']],
  [{ AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 's' }, []],
])('one variable of a pair without the other causes a warning: %o', async (variables, starts) => {
  const warnings = await checkEnvironment(withVariables(variables));
  expect(warnings).toEqual(starts.map((start) => expect.stringContaining(start)));
});

test('the section of services that a profile refers to must exist', async () => {
  const variables = { AWS_CONFIG_FILE: '/c', AWS_PROFILE: 'ours' };
  const config = (services: string) => ({
    '/c': `[profile ours]\nservices = local\n# none\n[services ${services}]\nec2 =\n  endpoint_url = x`,
  });
  await checkEnvironment(withVariables(variables, config('local')));
  await expect(checkEnvironment(withVariables(variables, config('other')))).rejects.toThrow(
    'profile ours of the shared configuration needs a section [services local]; add the section',
  );
});
