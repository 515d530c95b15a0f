/** A VM as far as what boots in it is concerned. */
export interface PoweredVm {
  readonly id: string;
  /** The name that its operating system gets. */
  readonly hostname: string;
  readonly providerId: string;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  /** The decoded user data of the VM. */
  readonly userData: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** Called when the VMs of a cloud are powered on or off. */
export interface Power {
  /** @param resumed the VM was running already when the emulator's own process started again */
  on(vm: PoweredVm, resumed: boolean): void;
  off(id: string): void;
  /** The newest part of the console of a VM. Absent: VMs have no console. */
  console?(id: string): string;
}

/** Instances that are only entries: nothing runs behind them. */
export const noPower: Power = { on: () => undefined, off: () => undefined };
