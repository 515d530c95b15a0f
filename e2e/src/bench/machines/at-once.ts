/** Calls `work` with the numbers from 0 to `times` - 1. At most `parallel` calls run at the same time. */
export async function atOnce(times: number, parallel: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < times) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}
