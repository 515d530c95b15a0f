import { type DecodedInput, type DriverInput, MachineError, readGoJson, specTypeProblems } from '@mcm/core/driver';
import { AwsCredentials, AwsProviderSpec } from './schemas.ts';
import { validate } from './validate.ts';

export const PROVIDER = 'AWS';

/**
 * Provider spec and Secret of a class, in the order of checks, with the codes and texts of the original: another provider
 * `InvalidArgument` (not asked by `initialize`), a wrong type `Internal`, a broken rule `InvalidArgument`.
 */
export function decode({ call, machineClass, data }: DriverInput): DecodedInput<AwsProviderSpec, AwsCredentials> {
  const { provider = '', providerSpec } = machineClass;
  if (call !== 'initialize' && provider !== PROVIDER)
    throw new MachineError('InvalidArgument', `requested for Provider '${provider}', we only support '${PROVIDER}'`);
  const spec = AwsProviderSpec.safeParse(readGoJson(AwsProviderSpec, providerSpec));
  if (!spec.success) {
    const problems = specTypeProblems(providerSpec, spec.error.issues);
    throw new MachineError('Internal', problems.join('; '));
  }
  const credentials = AwsCredentials.parse(data);
  const problem = validate(spec.data, credentials);
  if (problem) throw new MachineError('InvalidArgument', problem.text, problem.ofSecret ? { place: 'secret' } : {});
  return { spec: spec.data, credentials };
}
