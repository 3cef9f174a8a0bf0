print("no server here")
