/** `orders-3` is partition 3 of the topic `orders`; null for what is no partition. */
export function partitionOf(text: string): { topic: string; partition: number } | null {
  const found = /^(.+)-(\d{1,9})$/.exec(text.trim());
  return found === null ? null : { topic: found[1] as string, partition: Number(found[2]) };
}
