import { defineDriver, MachineError, runMachineController } from '@mcm/core';
import { z } from 'zod';

const driver = defineDriver({
  name: 'mycloud',
  providerSpec: z.strictObject({ region: z.string().min(1), size: z.string() }),
  credentialsSchema: z.looseObject({ token: z.string() }),
  // Finds the VM if an earlier call created it. The identity of the VM is derived from the UID of the Machine.
  create: async ({ machine, spec, credentials, userData, signal }) => {
    const { uid, name } = machine.metadata;
    const headers = { authorization: `Bearer ${credentials.token}` };
    const body = JSON.stringify({ size: spec.size, userData: Buffer.from(userData).toString('base64') });
    const answer = await fetch(`https://${spec.region}.example/vms/${uid}`, { method: 'PUT', headers, body, signal });
    if (answer.status === 507) throw new MachineError('ResourceExhausted', `no room in ${spec.region}`);
    return { providerId: `mycloud:///${spec.region}/${uid}`, nodeName: name };
  },
  // Resolves when the VM no longer exists, or if it never existed.
  delete: async ({ machine, spec, credentials, signal }) => {
    const headers = { authorization: `Bearer ${credentials.token}` };
    await fetch(`https://${spec.region}.example/vms/${machine.metadata.uid}`, { method: 'DELETE', headers, signal });
    return undefined;
  },
});

await runMachineController(driver);
