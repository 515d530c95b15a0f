import { startControlPlane } from '@mcm/control-plane';
import { createMemoryLogger, handlerTransport, seededRandom, VirtualClock } from '@mcm/kube';
import { createLocalCloud, createLocalDriver } from '@mcm/provider-local';

const clock = new VirtualClock();
const plane = await startControlPlane({ clock });
const runtime = { clock, random: seededRandom(1), log: createMemoryLogger() };
const cloud = createLocalCloud({ ...runtime, kubelets: { connect: () => plane.transport } });
const driver = createLocalDriver({
  clock,
  connect: () => handlerTransport(cloud.fetch),
  defaults: { endpoint: 'http://cloud' },
});
console.log(driver.name); // for the machine controller: buildMachineController({ driver, … })
await cloud.close();
await plane.close();
