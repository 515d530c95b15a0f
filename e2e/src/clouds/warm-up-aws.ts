import type { MachineClass } from '@mcm/api';
import { Ec2Endpoint } from '@mcm/cloud-emulators';
import { realClock, seededRandom, silentLogger } from '@mcm/kube';
import { AwsProviderSpec, createAwsDriver, loadSdk } from '@mcm/provider-aws';

const machineClass: MachineClass = {
  apiVersion: 'machine.sapcloud.io/v1alpha1',
  kind: 'MachineClass',
  metadata: { name: 'c', namespace: 'n', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' },
  providerSpec: {},
};

/**
 * Sends one request to AWS with each type of credentials, in real time.
 * @param variables The AWS variables, which are set in the process during the requests.
 */
export async function warmUp(variables: Readonly<Record<string, string>>): Promise<void> {
  await loadSdk();
  const cloud = new Ec2Endpoint({ clock: realClock });
  const driver = createAwsDriver({
    clock: realClock,
    random: seededRandom(1),
    connect: () => cloud.transport,
    environment: { variables, readFile: async () => 'token' },
  });
  const keys = { providerAccessKeyId: 'warm', providerSecretAccessKey: 'up' };
  const role = { workloadIdentityTokenFile: 'f', roleARN: 'arn:aws:iam::111122223333:role/r' };
  for (const credentials of [keys, role])
    await driver.list?.({
      machineClass,
      spec: AwsProviderSpec.parse({ region: 'eu-north-1' }),
      credentials,
      signal: new AbortController().signal,
      log: silentLogger,
    });
}
