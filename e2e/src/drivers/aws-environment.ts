import { warmUp } from '../clouds/warm-up-aws.ts';

export const AWS_VARIABLES = {
  AWS_ENDPOINT_URL: 'http://127.0.0.1:5000',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nonexistent/config',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
};

/**
 * Sets the variables that the SDK reads, and loads the modules of the SDK.
 * @returns a function that restores the previous values
 */
export async function inAwsEnvironment(): Promise<() => void> {
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  Object.assign(process.env, AWS_VARIABLES);
  await warmUp(AWS_VARIABLES);
  return () => {
    for (const name of Object.keys(AWS_VARIABLES)) delete process.env[name];
    Object.assign(process.env, before);
  };
}
