import { expect, test } from 'vitest';
import { checkEnvironment, type Environment, maxAttemptsOf } from './environment.ts';

/** Variables that the SDK would quietly ignore. */

const withVariables = (
  variables: Environment['variables'],
  files: Readonly<Record<string, string>> = {},
): Environment => ({ variables, readFile: async (path) => files[path] });

test.each(['many', '-1', '1.5'])('AWS_MAX_ATTEMPTS=%s is refused by its name', async (text) => {
  const environment = withVariables({ AWS_MAX_ATTEMPTS: text });
  await expect(checkEnvironment(environment)).rejects.toThrow(
    `AWS_MAX_ATTEMPTS=${text} is no number; set a number from 1`,
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

test('an unknown AWS_RETRY_MODE is refused by its name, known ones pass in any letter case', async () => {
  await expect(checkEnvironment(withVariables({ AWS_RETRY_MODE: 'brave' }))).rejects.toThrow(
    'AWS_RETRY_MODE=brave is unknown; use standard or adaptive',
  );
  await checkEnvironment(withVariables({ AWS_RETRY_MODE: 'Adaptive' }));
});

test.each([
  ['/home/someone/.aws/config', '[profile ours]', {}],
  ['/home/someone/.aws/credentials', '[ours]', {}],
  ['/etc/aws', '[ profile  ours ]', { AWS_CONFIG_FILE: '/etc/aws' }],
])('AWS_PROFILE is found in %s, and refused by its name where no file has it', async (path, text, more) => {
  const variables = { HOME: '/home/someone', AWS_PROFILE: 'ours', ...more };
  await checkEnvironment(withVariables(variables, { [path]: text }));
  await expect(checkEnvironment(withVariables(variables, { [path]: '[profile theirs]' }))).rejects.toThrow(
    'AWS_PROFILE names profile ours, which the shared configuration files do not have',
  );
});
